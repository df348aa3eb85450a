import { RuntimeClass } from "@dray/api/node/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";
import { runtimeClassColumns } from "./columns.ts";

export const runtimeClass: ServedKind<RuntimeClass> = defineServedKind(RuntimeClass, {
  facts: { createOnUpdate: true, needsVersion: true },
  columns: runtimeClassColumns,
});
