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
function checkChoice(
  errors: FieldErrors,
  path: string,
  value: string | undefined,
  known: readonly string[],
): void {
  if (!value) errors.required(path, `valid values: [${known.map(quoted).join(" ")}]`);
  else if (!known.includes(value)) errors.notSupported(path, value, known);
}

function checkExitCodes(
  errors: FieldErrors,
  path: string,
  codes: PodFailurePolicyRule["onExitCodes"] & object,
  names: ReadonlySet<string>,
): void {
  checkChoice(errors, `${path}.operator`, codes.operator, operators);
  if (isSet(codes.containerName) && !names.has(codes.containerName)) {
    const detail = "must be one of the container or initContainer names in the pod template";
    errors.invalid(`${path}.containerName`, codes.containerName, detail);
  }
  const values = codes.values ?? [];
  if (values.length === 0)
    errors.invalid(`${path}.values`, printedList(codes, "values"), "at least one value is required");
  else if (values.length > maxValues) errors.tooMany(`${path}.values`, values.length, maxValues);
  const repeated = seenBefore();
  values.forEach((value, index) => {
    const at = `${path}.values[${index}]`;
    if (codes.operator === "In" && value === 0)
      errors.invalid(at, value, "must not be 0 for the In operator");
    if (repeated(value)) errors.duplicate(at, value);
  });
  if (values.some((value, index) => index > 0 && values[index - 1]! > value)) {
    errors.invalid(`${path}.values`, values, "must be ordered");
  }
}

function checkFailureRule(
  errors: FieldErrors,
  path: string,
  rule: PodFailurePolicyRule,
  spec: JobSpec,
  names: ReadonlySet<string>,
): void {
  if (rule.action === "FailIndex") {
    if (!isSet(spec.backoffLimitPerIndex)) {
      errors.invalid(`${path}.action`, rule.action, "requires the backoffLimitPerIndex to be set");
    }
  } else checkChoice(errors, `${path}.action`, rule.action, actions);
  const conditions = rule.onPodConditions ?? [];
  if (rule.onExitCodes) checkExitCodes(errors, `${path}.onExitCodes`, rule.onExitCodes, names);
  if (conditions.length > maxRules) errors.tooMany(`${path}.onPodConditions`, conditions.length, maxRules);
  conditions.forEach(({ type, status }, index) => {
    const at = `${path}.onPodConditions[${index}]`;
    errors.check(qualifiedName, `${at}.type`, type ?? "");
    checkChoice(errors, `${at}.status`, status, states);
  });
  if (rule.onExitCodes && conditions.length > 0) {
    errors.wrong(path, "specifying both OnExitCodes and OnPodConditions is not supported");
  }
  if (!rule.onExitCodes && conditions.length === 0) {
    errors.wrong(path, "specifying one of OnExitCodes and OnPodConditions is required");
  }
}

export function checkFailurePolicy(errors: FieldErrors, path: string, spec: JobSpec): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  if (rules.length > maxRules) errors.tooMany(`${path}.rules`, rules.length, maxRules);
  const pod = spec.template?.spec;
  const names = new Set([...(pod?.containers ?? []), ...(pod?.initContainers ?? [])].map(({ name }) => name));
  rules.forEach((rule, index) => {
    checkFailureRule(errors, `${path}.rules[${index}]`, rule, spec, names);
  });
}

export function checkSuccessPolicy(errors: FieldErrors, path: string, spec: JobSpec): void {
  const rules = spec.successPolicy?.rules ?? [];
  const completions = spec.completions ?? 0;
  if (rules.length === 0) {
    errors.required(
      `${path}.rules`,
      "at least one rules must be specified when the successPolicy is specified",
    );
  }
  if (rules.length > maxRules) errors.tooMany(`${path}.rules`, rules.length, maxRules);
  rules.forEach(({ succeededCount: count, succeededIndexes: indexes }, index) => {
    const at = `${path}.rules[${index}]`;
    if (!isSet(count) && !isSet(indexes)) {
      errors.required(at, "at least one of succeededCount or succeededIndexes must be specified");
    }
    let total = 0;
    if (isSet(indexes)) {
      if (byteLength(indexes) > maxIndexesLength) errors.tooLong(`${at}.succeededIndexes`, maxIndexesLength);
      const problem = indexProblem(indexes, completions);
      if (problem === undefined) total = parseIndexes(indexes, completions).count;
      else errors.invalid(`${at}.succeededIndexes`, indexes, `error parsing succeededIndexes: ${problem}`);
    }
    if (!isSet(count)) return;
    errors.notNegative(`${at}.succeededCount`, count);
    if (count > completions) {
      const detail = `must be less than or equal to ${completions} (the number of specified completions)`;
      errors.invalid(`${at}.succeededCount`, count, detail);
    }
    if (isSet(indexes) && count > total) {
      const detail = `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`;
      errors.invalid(`${at}.succeededCount`, count, detail);
    }
  });
}
