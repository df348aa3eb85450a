import { DaemonSet } from "@dray/api/apps/v1";
import { defineServedKind } from "../../define.ts";
import { daemonSetColumns } from "./columns.ts";
import { daemonSetStrategy } from "./strategy.ts";
import { withTemplateGeneration } from "./template-generation.ts";

export const daemonSet = defineServedKind(DaemonSet, {
  facts: { status: "keep", generation: true },
  normalise: withTemplateGeneration,
  strategy: daemonSetStrategy,
  columns: daemonSetColumns,
});
