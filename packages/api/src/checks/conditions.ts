import type { Condition } from "../generated/meta/v1.ts";
import { byteLength, qualifiedName } from "../values/names.ts";
import type { FieldErrors } from "./field.ts";

const reasonForm = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const reasonPattern = new RegExp(`^${reasonForm}$`);
const reasonRule =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric " +
  "characters or '_,:', and must end with an alphanumeric character or '_' " +
  `(e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', ` +
  `regex used for validation is '${reasonForm}')`;
const reasonLimit = 1024;
const messageLimit = 32 * 1024;

/** A list of conditions (meta/v1 Condition). */
export function checkConditions(errors: FieldErrors, conditions: readonly Condition[] | undefined): void {
  const seen = new Set<string>();
  (conditions ?? []).forEach((condition, index) => {
    const here = errors.index(index);
    const type = condition.type ?? "";
    if (seen.has(type)) here.at("type").duplicate(type);
    seen.add(type);
    here.at("type").check(qualifiedName, type);
    const states = ["False", "True", "Unknown"];
    const status = condition.status ?? "";
    if (!states.includes(status)) here.at("status").notSupported(status, states);
    if (condition.observedGeneration !== undefined && condition.observedGeneration < 0) {
      const detail = "must be greater than or equal to zero";
      here.at("observedGeneration").invalid(condition.observedGeneration, detail);
    }
    if (!condition.lastTransitionTime) here.at("lastTransitionTime").required();
    const reason = condition.reason ?? "";
    if (reason === "") here.at("reason").required();
    else {
      if (!reasonPattern.test(reason)) here.at("reason").invalid(reason, reasonRule);
      if (byteLength(reason) > reasonLimit) here.at("reason").tooLong(reasonLimit);
    }
    if (byteLength(condition.message ?? "") > messageLimit) here.at("message").tooLong(messageLimit);
  });
}
