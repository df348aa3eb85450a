import { Event } from "@dray/api/events/v1";
import { eventToEvents } from "../../core/event/conversion.ts";
import { eventStrategy } from "../../core/event/strategy.ts";
import { defineServedKind } from "../../define.ts";

export const eventsEvent = defineServedKind(Event, {
  facts: {
    createOnUpdate: true,
    fields: [
      "regarding.kind",
      "regarding.namespace",
      "regarding.name",
      "regarding.uid",
      "regarding.apiVersion",
      "regarding.resourceVersion",
      "regarding.fieldPath",
      "reason",
      "reportingController",
      "type",
    ],
    fieldError: "core",
  },
  strategy: eventStrategy,
  convert: eventToEvents,
});
