import { ReplicationController } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import type { Strategy } from "../../strategy.ts";
import { labelAsTemplate } from "../pod-template/labels.ts";
import { replicationControllerColumns } from "./columns.ts";

const replicationControllerStrategy: Strategy<ReplicationController> = {
  complete(object) {
    labelAsTemplate(object, object.spec?.template);
  },

  // The default from before the garbage collector.
  garbageCollection: "orphan",
};

export const replicationController = defineServedKind(ReplicationController, {
  facts: { status: "keep", scale: true, generation: true, fields: ["status.replicas"], fieldError: "core" },
  strategy: replicationControllerStrategy,
  columns: replicationControllerColumns,
});
