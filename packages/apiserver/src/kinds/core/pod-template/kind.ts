import { PodTemplate } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import { podTemplateColumns } from "./columns.ts";

export const podTemplate = defineServedKind(PodTemplate, {
  facts: { generation: true, answersDeleted: true },
  columns: podTemplateColumns,
});
