import type { ReplicaSet } from "@dray/api/apps/v1";
import { ageText } from "../../../tables/age.ts";
import { column, counts, type Printer, selectorText, wide } from "../../../tables/column.ts";
import { templateCells, templateColumns } from "../columns.ts";

export const replicaSetColumns: Printer<ReplicaSet> = {
  columns: [
    column("Name"),
    ...counts("Desired", "Current", "Ready"),
    column("Age"),
    ...templateColumns,
    ...wide("Selector"),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec?.replicas ?? 0,
    status?.replicas ?? 0,
    status?.readyReplicas ?? 0,
    ageText(metadata.creationTimestamp, now),
    ...templateCells(spec?.template),
    selectorText(spec?.selector),
  ],
};
