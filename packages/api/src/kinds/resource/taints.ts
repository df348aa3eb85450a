import type { FieldErrors } from "../../checks/field.ts";
import type { DeviceTaint, DeviceToleration } from "../../generated/resource/v1.ts";
import { isLabelValue, qualifiedName } from "../../values/names.ts";

const effects = ["NoExecute", "NoSchedule", "None"];
const operators = ["Equal", "Exists"];

/** A taint of a device; the effect of `old` may stay what it is. */
export function checkTaint(errors: FieldErrors, path: string, taint: DeviceTaint, old?: DeviceTaint): void {
  errors.check(qualifiedName, `${path}.key`, taint.key ?? "");
  if (taint.value) errors.check(isLabelValue, `${path}.value`, taint.value);
  if (old?.effect !== taint.effect || !taint.effect) errors.oneOf(`${path}.effect`, taint.effect, effects);
}

export function checkToleration(errors: FieldErrors, path: string, toleration: DeviceToleration): void {
  const { key, operator, value = "", effect } = toleration;
  if (key) errors.check(qualifiedName, `${path}.key`, key);
  if (operator === "Exists") {
    if (value) errors.invalid(`${path}.value`, value, "must be empty for operator `Exists`");
  } else if (operator === "Equal") errors.check(isLabelValue, `${path}.value`, value);
  else if (!operator) errors.required(`${path}.operator`);
  else errors.notSupported(`${path}.operator`, operator, operators);
  if (effect && !effects.includes(effect)) errors.notSupported(`${path}.effect`, effect, effects);
}
