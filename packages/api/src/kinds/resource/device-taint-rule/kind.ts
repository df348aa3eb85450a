import { DeviceTaintRule } from "../../../generated/resource/v1.ts";
import { type DefaultsContext, defineKind } from "../../define.ts";
import { stamp } from "../taint-time.ts";
import { checkRule, checkRuleStatus, checkRuleUpdate } from "./validation.ts";

function defaultRule(rule: DeviceTaintRule, { now }: DefaultsContext): void {
  stamp(rule.spec?.taint, now);
}

export const deviceTaintRule = defineKind(DeviceTaintRule, {
  defaults: defaultRule,
  validation: { create: checkRule, update: checkRuleUpdate, status: checkRuleStatus },
});
