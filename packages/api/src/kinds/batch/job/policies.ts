/** When a job has failed (KEP-3329), and when it has succeeded (KEP-3998). */

import { type FieldErrors, printedList, seenBefore } from "../../../checks/field.ts";
import type { JobSpec, PodFailurePolicyRule } from "../../../generated/batch/v1.ts";
import { quoted } from "../../../text/quoted.ts";
import { byteLength, qualifiedName } from "../../../values/names.ts";
import { indexProblem, parseIndexes } from "./indexes.ts";

const maxRules = 20;
const maxValues = 255;
const maxIndexesLength = 64 * 1024;
const isSet = <T>(value: T | undefined | null): value is T => value !== undefined && value !== null;
const actions = ["Count", "FailIndex", "FailJob", "Ignore"];
const operators = ["In", "NotIn"];
const states = ["False", "True", "Unknown"];

/** Required with the legal values, or one of them. */
function checkChoice(errors: FieldErrors, value: string | undefined, known: readonly string[]): void {
  if (!value) errors.required(`valid values: [${known.map(quoted).join(" ")}]`);
  else if (!known.includes(value)) errors.notSupported(value, known);
}

function checkExitCodes(
  errors: FieldErrors,
  codes: PodFailurePolicyRule["onExitCodes"] & object,
  names: ReadonlySet<string>,
): void {
  checkChoice(errors.at("operator"), codes.operator, operators);
  if (isSet(codes.containerName) && !names.has(codes.containerName)) {
    const detail = "must be one of the container or initContainer names in the pod template";
    errors.at("containerName").invalid(codes.containerName, detail);
  }
  const values = codes.values ?? [];
  if (values.length === 0)
    errors.at("values").invalid(printedList(errors, codes, "values"), "at least one value is required");
  else if (values.length > maxValues) errors.at("values").tooMany(values.length, maxValues);
  const repeated = seenBefore();
  values.forEach((value, index) => {
    const here = errors.at("values").index(index);
    if (codes.operator === "In" && value === 0) here.invalid(value, "must not be 0 for the In operator");
    if (repeated(value)) here.duplicate(value);
  });
  if (values.some((value, index) => index > 0 && values[index - 1]! > value)) {
    errors.at("values").invalid(values, "must be ordered");
  }
}

function checkFailureRule(
  errors: FieldErrors,
  rule: PodFailurePolicyRule,
  spec: JobSpec,
  names: ReadonlySet<string>,
): void {
  if (rule.action === "FailIndex") {
    if (!isSet(spec.backoffLimitPerIndex)) {
      errors.at("action").invalid(rule.action, "requires the backoffLimitPerIndex to be set");
    }
  } else checkChoice(errors.at("action"), rule.action, actions);
  const conditions = rule.onPodConditions ?? [];
  if (rule.onExitCodes) checkExitCodes(errors.at("onExitCodes"), rule.onExitCodes, names);
  if (conditions.length > maxRules) errors.at("onPodConditions").tooMany(conditions.length, maxRules);
  conditions.forEach(({ type, status }, index) => {
    const here = errors.at("onPodConditions").index(index);
    here.at("type").check(qualifiedName, type ?? "");
    checkChoice(here.at("status"), status, states);
  });
  if (rule.onExitCodes && conditions.length > 0) {
    errors.wrong("specifying both OnExitCodes and OnPodConditions is not supported");
  }
  if (!rule.onExitCodes && conditions.length === 0) {
    errors.wrong("specifying one of OnExitCodes and OnPodConditions is required");
  }
}

export function checkFailurePolicy(errors: FieldErrors, spec: JobSpec): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  if (rules.length > maxRules) errors.at("rules").tooMany(rules.length, maxRules);
  const pod = spec.template?.spec;
  const names = new Set([...(pod?.containers ?? []), ...(pod?.initContainers ?? [])].map(({ name }) => name));
  rules.forEach((rule, index) => {
    checkFailureRule(errors.at("rules").index(index), rule, spec, names);
  });
}

export function checkSuccessPolicy(errors: FieldErrors, spec: JobSpec): void {
  const rules = spec.successPolicy?.rules ?? [];
  const completions = spec.completions ?? 0;
  if (rules.length === 0) {
    errors.at("rules").required("at least one rules must be specified when the successPolicy is specified");
  }
  if (rules.length > maxRules) errors.at("rules").tooMany(rules.length, maxRules);
  rules.forEach(({ succeededCount: count, succeededIndexes: indexes }, index) => {
    const here = errors.at("rules").index(index);
    if (!isSet(count) && !isSet(indexes)) {
      here.required("at least one of succeededCount or succeededIndexes must be specified");
    }
    let total = 0;
    if (isSet(indexes)) {
      if (byteLength(indexes) > maxIndexesLength) here.at("succeededIndexes").tooLong(maxIndexesLength);
      const problem = indexProblem(indexes, completions);
      if (problem === undefined) total = parseIndexes(indexes, completions).count;
      else here.at("succeededIndexes").invalid(indexes, `error parsing succeededIndexes: ${problem}`);
    }
    if (!isSet(count)) return;
    here.at("succeededCount").notNegative(count);
    if (count > completions) {
      const detail = `must be less than or equal to ${completions} (the number of specified completions)`;
      here.at("succeededCount").invalid(count, detail);
    }
    if (isSet(indexes) && count > total) {
      const detail = `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`;
      here.at("succeededCount").invalid(count, detail);
    }
  });
}
