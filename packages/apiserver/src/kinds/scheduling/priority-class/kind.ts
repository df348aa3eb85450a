import { PriorityClass } from "@dray/api/scheduling/v1";
import { defineServedKind } from "../../define.ts";
import type { Strategy } from "../../strategy.ts";
import { priorityClassColumns } from "./columns.ts";

/** The generation of a priority class is set on creation and never changes. */
const priorityClassStrategy: Strategy = {
  prepareForCreate(object) {
    object.metadata.generation = 1;
  },
};

export const priorityClass = defineServedKind(PriorityClass, {
  facts: { unserved: ["v1beta1"] },
  strategy: priorityClassStrategy,
  columns: priorityClassColumns,
});
