import { type Column, column } from "../../tables/column.ts";

/** Upstream: metrics-server, pkg/api/table.go */
export const columns: Column[] = [
  column("Name"),
  { ...column("cpu"), format: "quantity" },
  { ...column("memory"), format: "quantity" },
  { ...column("Window"), format: "duration" },
];
