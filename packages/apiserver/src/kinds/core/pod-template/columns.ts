import type { PodTemplate } from "@dray/api/core/v1";
import { columns, labelText, type Printer } from "../../../tables/column.ts";
import { templateCells } from "../../apps/columns.ts";

export const podTemplateColumns: Printer<PodTemplate> = {
  columns: columns("Name", "Containers", "Images", "Pod Labels"),
  cells: ({ metadata, template }) => [
    metadata.name,
    ...templateCells(template),
    labelText(template?.metadata?.labels),
  ],
};
