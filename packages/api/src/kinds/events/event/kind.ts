import { Event } from "../../../generated/events/v1.ts";
import { defineKind } from "../../define.ts";

export const eventsEvent = defineKind(Event, {
  quota: false,
});
