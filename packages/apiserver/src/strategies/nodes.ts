import type { Node } from "@dray/api/core/v1";
import type { Strategy } from "../kinds/strategy.ts";

/** Configuration by the API is gone (KEP-281): what still says how is dropped. */
export const nodes: Strategy = {
  prepareForCreate(object) {
    delete (object as Node).spec?.configSource;
    delete (object as Node).status?.config;
  },

  prepareForUpdate(object, old) {
    const [node, before] = [object as Node, old as Node];
    if (!before.spec?.configSource) delete node.spec?.configSource;
    if (!before.status?.config) delete node.status?.config;
  },
};
