import { PodTemplate } from "@dray/api/core/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { podTemplateColumns } from "./columns.ts";

export const podTemplate: ServedKind<PodTemplate> = defineServedKind(PodTemplate, {
  facts: { generation: true, answersDeleted: true },
  columns: podTemplateColumns,
});
