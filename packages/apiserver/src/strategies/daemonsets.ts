import type { DaemonSet } from "@dray/api/apps/v1";
import type { Strategy } from "../kinds/strategy.ts";
import { deepEqual } from "../storage/json.ts";
import { setTemplateGeneration, templateGeneration } from "../tables/template-generation.ts";

export const daemonsets: Strategy = {
  prepareForCreate(object) {
    setTemplateGeneration(object, 1);
  },

  prepareForUpdate(object, old, context) {
    const before = Number(old.metadata.annotations?.[templateGeneration] ?? 0);
    const changed =
      context.subresource === "" &&
      !deepEqual((object as DaemonSet).spec?.template, (old as DaemonSet).spec?.template);
    setTemplateGeneration(object, changed ? before + 1 : before);
  },
};
