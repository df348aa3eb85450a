import type { NetworkPolicy } from "@dray/api/networking/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer, selectorText } from "../../../tables/column.ts";

export const networkPolicyColumns: Printer<NetworkPolicy> = {
  columns: columns("Name", "Pod-Selector", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    selectorText(spec?.podSelector),
    ageText(metadata.creationTimestamp, now),
  ],
};
