import type { FieldErrors } from "../../checks/field.ts";
import type { DeviceTaint, DeviceToleration } from "../../generated/resource/v1.ts";
import { isLabelValue, qualifiedName } from "../../values/names.ts";

const effects = ["NoExecute", "NoSchedule", "None"];
const operators = ["Equal", "Exists"];

/** A taint of a device; the effect of `old` may stay what it is. */
export function checkTaint(errors: FieldErrors, taint: DeviceTaint, old?: DeviceTaint): void {
  errors.at("key").check(qualifiedName, taint.key ?? "");
  if (taint.value) errors.at("value").check(isLabelValue, taint.value);
  if (old?.effect !== taint.effect || !taint.effect) errors.at("effect").oneOf(taint.effect, effects);
}

export function checkToleration(errors: FieldErrors, toleration: DeviceToleration): void {
  const { key, operator, value = "", effect } = toleration;
  if (key) errors.at("key").check(qualifiedName, key);
  if (operator === "Exists") {
    if (value) errors.at("value").invalid(value, "must be empty for operator `Exists`");
  } else if (operator === "Equal") errors.at("value").check(isLabelValue, value);
  else if (!operator) errors.at("operator").required();
  else errors.at("operator").notSupported(operator, operators);
  if (effect && !effects.includes(effect)) errors.at("effect").notSupported(effect, effects);
}
