import type { Strategy } from "../kinds/strategy.ts";

/** The generation of a priority class is set, and never counted. */
export const priorityclasses: Strategy = {
  prepareForCreate(object) {
    object.metadata.generation = 1;
  },
};
