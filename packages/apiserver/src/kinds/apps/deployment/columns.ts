import type { Deployment } from "@dray/api/apps/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer, selectorText, wide } from "../../../tables/column.ts";
import { templateCells, templateColumns } from "../columns.ts";

export const deploymentColumns: Printer<Deployment> = {
  columns: [
    ...columns("Name", "Ready", "Up-to-date", "Available", "Age"),
    ...templateColumns,
    ...wide("Selector"),
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
    status?.updatedReplicas ?? 0,
    status?.availableReplicas ?? 0,
    ageText(metadata.creationTimestamp, now),
    ...templateCells(spec?.template),
    selectorText(spec?.selector),
  ],
};
