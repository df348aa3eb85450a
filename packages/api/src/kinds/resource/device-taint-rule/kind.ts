import { DeviceTaintRule } from "../../../generated/resource/v1.ts";
import { type DefaultsContext, defineKind } from "../../define.ts";
import { stamp } from "../taint-time.ts";
import { checkRule, checkRuleStatus, checkRuleUpdate } from "./validation.ts";

function defaultRule(rule: DeviceTaintRule, { now }: DefaultsContext): void {
  stamp(rule.spec?.taint, now);
}

/** Upstream: pkg/registry/resource/devicetaintrule/strategy.go, from 1.38 on; here in every release. */
function warningsOf({ spec }: DeviceTaintRule): string[] {
  const selector = spec?.deviceSelector ?? undefined;
  const isEmpty = selector !== undefined && Object.values(selector).every((value) => isUnset(value));
  return isEmpty
    ? ["spec.deviceSelector: an empty selector matches every device from every driver in the cluster"]
    : [];
}

/** Absent, null, or a list of a former version without items. */
const isUnset = (value: unknown): boolean => value == null || (Array.isArray(value) && value.length === 0);

export const deviceTaintRule = defineKind(DeviceTaintRule, {
  defaults: defaultRule,
  warnings: warningsOf,
  validation: { create: checkRule, update: checkRuleUpdate, status: checkRuleStatus },
});
