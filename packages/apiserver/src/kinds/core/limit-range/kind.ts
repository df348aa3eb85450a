import { LimitRange } from "@dray/api/core/v1";
import { dated } from "../../../tables/plain.ts";
import { defineServedKind } from "../../define.ts";
import type { Strategy } from "../../strategy.ts";

/** Names a limit range without a name by a new UUID. */
const limitRangeStrategy: Strategy = {
  prepareForCreate(object, context) {
    object.metadata.name ||= context.newId();
  },
};

export const limitRange = defineServedKind(LimitRange, {
  facts: { createOnUpdate: true },
  strategy: limitRangeStrategy,
  columns: dated,
});
