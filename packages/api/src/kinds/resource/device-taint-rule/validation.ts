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
  const here = errors.at("spec.deviceSelector");
  if (selector?.driver !== undefined) checkDriverName(here.at("driver"), selector.driver);
  if (selector?.pool !== undefined) checkPoolName(here.at("pool"), selector.pool);
  if (selector?.device !== undefined) checkDeviceName(here.at("device"), selector.device);
  checkTaint(errors.at("spec.taint"), spec?.taint ?? { key: "", effect: "" }, old?.spec?.taint);
}

export function checkRule(errors: FieldErrors, rule: DeviceTaintRule): void {
  checkMetadata(errors.at("metadata"), rule.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors.at("metadata"), rule.metadata);
  checkSpec(errors, rule);
}

export function checkRuleUpdate(errors: FieldErrors, rule: DeviceTaintRule, old: DeviceTaintRule): void {
  checkMetadataUpdate(errors.at("metadata"), rule.metadata, old.metadata);
  checkFinalizerNames(errors.at("metadata"), rule.metadata);
  checkSpec(errors, rule, old);
}

export function checkRuleStatus(errors: FieldErrors, rule: DeviceTaintRule, old: DeviceTaintRule): void {
  checkMetadataUpdate(errors.at("metadata"), rule.metadata, old.metadata);
  checkFinalizerNames(errors.at("metadata"), rule.metadata);
  const conditions = rule.status?.conditions ?? [];
  checkConditions(errors.at("status.conditions"), conditions);
  if (conditions.length > limits.conditions) {
    errors.at("status.conditions").tooMany(conditions.length, limits.conditions);
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
