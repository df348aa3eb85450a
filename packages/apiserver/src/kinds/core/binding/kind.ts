import { Binding } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";

export const binding = defineServedKind(Binding, {
  facts: { createOnly: true },
});
