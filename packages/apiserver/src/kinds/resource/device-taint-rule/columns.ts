import type { DeviceTaintRule } from "@dray/api/resource/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";

export const deviceTaintRuleColumns: Printer<DeviceTaintRule> = {
  columns: columns("Name", "Key", "Value", "Effect", "TimeAdded", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec?.taint?.key ?? "",
    spec?.taint?.value ?? "",
    spec?.taint?.effect ?? "",
    ageText(spec?.taint?.timeAdded, now),
    ageText(metadata.creationTimestamp, now),
  ],
};
