import { RuntimeClass } from "@dray/api/node/v1";
import { defineServedKind } from "../../define.ts";
import { runtimeClassColumns } from "./columns.ts";

export const runtimeClass = defineServedKind(RuntimeClass, {
  facts: { createOnUpdate: true, needsVersion: true },
  columns: runtimeClassColumns,
});
