import { Quantity } from "@dray/api";
import { PodMetrics } from "@dray/api/metrics/v1beta1";
import type { Printer } from "../../../tables/column.ts";
import { defineServedKind } from "../../define.ts";
import { columns } from "../columns.ts";

/** Shows the sums over the containers of a pod. */
const podMetricsColumns: Printer<PodMetrics> = {
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

export const podMetrics = defineServedKind(PodMetrics, {
  facts: { readOnly: true, extension: true },
  columns: podMetricsColumns,
});
