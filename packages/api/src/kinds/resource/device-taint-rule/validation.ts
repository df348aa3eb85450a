import { checkConditions } from "../../../checks/conditions.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import type { DeviceTaintRule } from "../../../generated/resource/v1.ts";
import type { Time } from "../../../objects/object.ts";
import { dnsSubdomain } from "../../../values/names.ts";
import { checkDeviceName, checkDriverName, checkPoolName, limits } from "../names.ts";
import { checkTaint } from "../taints.ts";

function checkSpec(errors: FieldErrors, { spec }: DeviceTaintRule, old?: DeviceTaintRule): void {
  const selector = spec?.deviceSelector;
  const path = "spec.deviceSelector";
  if (selector?.driver !== undefined) checkDriverName(errors, `${path}.driver`, selector.driver);
  if (selector?.pool !== undefined) checkPoolName(errors, `${path}.pool`, selector.pool);
  if (selector?.device !== undefined) checkDeviceName(errors, `${path}.device`, selector.device);
  checkTaint(errors, "spec.taint", spec?.taint ?? { key: "", effect: "" }, old?.spec?.taint);
}

export function checkRule(errors: FieldErrors, rule: DeviceTaintRule): void {
  checkMetadata(errors, "metadata", rule.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors, "metadata", rule.metadata);
  checkSpec(errors, rule);
}

export function checkRuleUpdate(errors: FieldErrors, rule: DeviceTaintRule, old: DeviceTaintRule): void {
  checkMetadataUpdate(errors, "metadata", rule.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", rule.metadata);
  checkSpec(errors, rule, old);
}

export function checkRuleStatus(errors: FieldErrors, rule: DeviceTaintRule, old: DeviceTaintRule): void {
  checkMetadataUpdate(errors, "metadata", rule.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", rule.metadata);
  const conditions = rule.status?.conditions ?? [];
  checkConditions(errors, "status.conditions", conditions);
  if (conditions.length > limits.conditions) {
    errors.tooMany("status.conditions", conditions.length, limits.conditions);
  }
}

/**
 * Sets the time of a rule's taint to `now`, in place, where its effect changed and its time did not. To be
 * called before the update is validated (KEP-5055).
 */
export function stampChangedTaint(rule: DeviceTaintRule, old: DeviceTaintRule, now: Time): void {
  const [taint, before] = [rule.spec?.taint, old.spec?.taint];
  if (!taint) return;
  if (taint.effect !== before?.effect && taint.timeAdded === before?.timeAdded) taint.timeAdded = now;
}
