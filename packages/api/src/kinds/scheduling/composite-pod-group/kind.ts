import { CompositePodGroup } from "../../../generated/scheduling/v1alpha3.ts";
import { defineKind } from "../../define.ts";
import { compositePodGroupValidation } from "./validation.ts";

export const compositePodGroup = defineKind(CompositePodGroup, {
  validation: compositePodGroupValidation,
});
