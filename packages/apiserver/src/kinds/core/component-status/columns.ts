import type { ComponentStatus } from "@dray/api/core/v1";
import { columns, type Printer } from "../../../tables/column.ts";

/** Objects have one condition, `Healthy`. */
export const componentStatusColumns: Printer<ComponentStatus> = {
  columns: columns("Name", "Status", "Message", "Error"),
  cells({ metadata, conditions }) {
    const healthy = (conditions ?? []).find(({ type }) => type === "Healthy");
    const state = healthy?.status === "True" ? "Healthy" : "Unhealthy";
    return [
      metadata.name,
      healthy === undefined ? "Unknown" : state,
      healthy?.message ?? "",
      healthy?.error ?? "",
    ];
  },
};
