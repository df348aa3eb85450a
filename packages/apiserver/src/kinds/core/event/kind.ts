import { Event } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import { eventColumns } from "./columns.ts";
import { eventToCore } from "./conversion.ts";
import { eventStrategy } from "./strategy.ts";

export const event = defineServedKind(Event, {
  facts: {
    createOnUpdate: true,
    fields: [
      "involvedObject.kind",
      "involvedObject.namespace",
      "involvedObject.name",
      "involvedObject.uid",
      "involvedObject.apiVersion",
      "involvedObject.resourceVersion",
      "involvedObject.fieldPath",
      "reason",
      "reportingComponent",
      "source",
      "type",
    ],
    fieldError: "core",
  },
  strategy: eventStrategy,
  columns: eventColumns,
  convert: eventToCore,
});
