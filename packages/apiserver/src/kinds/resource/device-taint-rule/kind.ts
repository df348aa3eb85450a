import { DeviceTaintRule } from "@dray/api/resource/v1";
import { stampChangedTaint } from "@dray/api/validation";
import { defineServedKind } from "../../define.ts";
import type { Strategy } from "../../strategy.ts";
import { deviceTaintRuleColumns } from "./columns.ts";

const deviceTaintRuleStrategy: Strategy<DeviceTaintRule> = {
  prepareForUpdate(object, old, context) {
    if (context.subresource === "") stampChangedTaint(object, old, context.now);
  },
};

export const deviceTaintRule = defineServedKind(DeviceTaintRule, {
  facts: {
    status: "reset",
    generation: true,
    answersDeleted: true,
    needsVersion: ["v1"],
    storageVersion: { "1.36": "v1alpha3", "1.37": "v1beta2" },
    deprecated: { v1alpha3: { since: "1.36", gone: "1.39" } },
  },
  strategy: deviceTaintRuleStrategy,
  columns: deviceTaintRuleColumns,
});
