import type { StatefulSet } from "@dray/api/apps/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";
import { templateCells, templateColumns } from "../columns.ts";

export const statefulSetColumns: Printer<StatefulSet> = {
  columns: [...columns("Name", "Ready", "Age"), ...templateColumns],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
    ageText(metadata.creationTimestamp, now),
    ...templateCells(spec?.template),
  ],
};
