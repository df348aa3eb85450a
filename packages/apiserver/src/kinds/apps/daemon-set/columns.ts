import type { DaemonSet } from "@dray/api/apps/v1";
import { ageText } from "../../../tables/age.ts";
import {
  column,
  columns,
  counts,
  labelText,
  type Printer,
  selectorText,
  wide,
} from "../../../tables/column.ts";
import { templateCells, templateColumns } from "../columns.ts";
import { internalMetadata } from "./template-generation.ts";

export const daemonSetColumns: Printer<DaemonSet> = {
  columns: [
    column("Name"),
    ...counts("Desired", "Current", "Ready", "Up-to-date", "Available"),
    ...columns("Node Selector", "Age"),
    ...templateColumns,
    ...wide("Selector"),
  ],
  metadata: internalMetadata,
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    status?.desiredNumberScheduled ?? 0,
    status?.currentNumberScheduled ?? 0,
    status?.numberReady ?? 0,
    status?.updatedNumberScheduled ?? 0,
    status?.numberAvailable ?? 0,
    labelText(spec?.template?.spec?.nodeSelector),
    ageText(metadata.creationTimestamp, now),
    ...templateCells(spec?.template),
    selectorText(spec?.selector),
  ],
};
