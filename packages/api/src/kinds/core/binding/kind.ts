import { Binding } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";

export const binding = defineKind(Binding, {
  quota: false,
});
