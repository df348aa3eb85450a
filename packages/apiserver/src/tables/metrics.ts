import { Quantity } from "@dray/api";
import type { NodeMetrics, PodMetrics } from "@dray/api/metrics/v1beta1";
import { type Column, column, type Printer } from "./column.ts";

/** Upstream: metrics-server, pkg/api/table.go */
const columns: Column[] = [
  column("Name"),
  { ...column("cpu"), format: "quantity" },
  { ...column("memory"), format: "quantity" },
  { ...column("Window"), format: "duration" },
];

export const nodeMetrics: Printer<NodeMetrics> = {
  columns,
  cells: ({ metadata, usage, window }) => [metadata.name, usage["cpu"] ?? "", usage["memory"] ?? "", window],
};

/** The containers of a pod together. */
export const podMetrics: Printer<PodMetrics> = {
  columns,
  cells({ metadata, containers, window }) {
    const sum = (name: string): string =>
      containers
        .map(({ usage }) => Quantity.parse(usage[name] ?? "0"))
        .reduce((total, one) => total.add(one))
        .toString();
    return [metadata.name, sum("cpu"), sum("memory"), window];
  },
};
