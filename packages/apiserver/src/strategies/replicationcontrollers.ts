import type { ReplicationController } from "@dray/api/core/v1";
import type { Strategy } from "../kinds/strategy.ts";
import { labelAsTemplate } from "./jobs.ts";

export const replicationcontrollers: Strategy = {
  complete(object) {
    labelAsTemplate(object, (object as ReplicationController).spec?.template);
  },

  // As it was before there was a garbage collector.
  garbageCollection: "orphan",
};
