import type { DaemonSet } from "@dray/api/apps/v1";
import { deepEqual } from "../../../storage/json.ts";
import type { Strategy } from "../../strategy.ts";
import { setTemplateGeneration, templateGeneration } from "./template-generation.ts";

export const daemonSetStrategy: Strategy<DaemonSet> = {
  prepareForCreate(object) {
    setTemplateGeneration(object, 1);
  },

  prepareForUpdate(object, old, context) {
    const before = Number(old.metadata.annotations?.[templateGeneration] ?? 0);
    const changed = context.subresource === "" && !deepEqual(object.spec?.template, old.spec?.template);
    setTemplateGeneration(object, changed ? before + 1 : before);
  },
};
