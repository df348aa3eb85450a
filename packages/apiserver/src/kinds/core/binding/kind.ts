import { Binding } from "@dray/api/core/v1";
import { defineServedKind, type ServedKind } from "../../define.ts";

export const binding: ServedKind<Binding> = defineServedKind(Binding, {
  facts: { createOnly: true },
});
