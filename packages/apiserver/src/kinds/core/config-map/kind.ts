import { ConfigMap } from "@dray/api/core/v1";
import { ageText } from "../../../tables/age.ts";
import { columns, type Printer } from "../../../tables/column.ts";
import { defineServedKind } from "../../define.ts";

const configMapColumns: Printer<ConfigMap> = {
  columns: columns("Name", "Data", "Age"),
  cells: ({ metadata, data, binaryData }, now) => [
    metadata.name,
    Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length,
    ageText(metadata.creationTimestamp, now),
  ],
};

export const configMap = defineServedKind(ConfigMap, {
  facts: {},
  columns: configMapColumns,
});
