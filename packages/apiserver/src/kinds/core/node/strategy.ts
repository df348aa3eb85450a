import type { Node } from "@dray/api/core/v1";
import type { Strategy } from "../../strategy.ts";

/** Configuration by the API is gone (KEP-281): what still says how is dropped. */
export const nodeStrategy: Strategy<Node> = {
  prepareForCreate(object) {
    delete object.spec?.configSource;
    delete object.status?.config;
  },

  prepareForUpdate(node, before) {
    if (!before.spec?.configSource) delete node.spec?.configSource;
    if (!before.status?.config) delete node.status?.config;
  },
};
