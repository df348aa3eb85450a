import { CSINode } from "../../../generated/storage/v1.ts";
import { defineKind } from "../../define.ts";
import { csiNodeValidation } from "./validation.ts";

export const csiNode = defineKind(CSINode, {
  validation: csiNodeValidation,
});
