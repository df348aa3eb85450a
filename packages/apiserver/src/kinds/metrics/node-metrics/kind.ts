import { NodeMetrics } from "@dray/api/metrics/v1beta1";
import type { Printer } from "../../../tables/column.ts";
import { defineServedKind } from "../../define.ts";
import { columns } from "../columns.ts";

const nodeMetricsColumns: Printer<NodeMetrics> = {
  columns,
  cells: ({ metadata, usage, window }) => [metadata.name, usage["cpu"] ?? "", usage["memory"] ?? "", window],
};

export const nodeMetrics = defineServedKind(NodeMetrics, {
  facts: { readOnly: true, extension: true },
  columns: nodeMetricsColumns,
});
