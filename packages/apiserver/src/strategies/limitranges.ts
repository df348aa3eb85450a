import type { Strategy } from "../kinds/strategy.ts";

/** A limit range without a name gets an id for one. */
export const limitranges: Strategy = {
  prepareForCreate(object, context) {
    object.metadata.name ||= context.newId();
  },
};
