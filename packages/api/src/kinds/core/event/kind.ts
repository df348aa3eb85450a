import { Event } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { eventValidation } from "./validation.ts";

export const event = defineKind(Event, {
  validation: eventValidation,
  quota: false,
});
