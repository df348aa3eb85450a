import { type FieldErrors, seenBefore } from "../../../checks/field.ts";
import {
  checkLabelSelector,
  checkNodeSelector,
  checkNodeSelectorTerm,
} from "../../../checks/nodeselector.ts";
import type { Features } from "../../../features/features.ts";
import type {
  PodAffinityTerm,
  PodSpec,
  Toleration,
  TopologySpreadConstraint,
} from "../../../generated/core/v1.ts";
import type { LabelSelector } from "../../../generated/meta/v1.ts";
import { int64Of, isDecimalInteger } from "../../../text/decimal-integer.ts";
import { quoted } from "../../../text/quoted.ts";
import { dnsLabel, isLabelValue, qualifiedName } from "../../../values/names.ts";

/** Constraints on the node of a pod: selectors, affinity, tolerations, spreading, gates. */

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function checkToleration(errors: FieldErrors, toleration: Toleration, comparisons: boolean): void {
  const { key, operator, value, effect, tolerationSeconds } = toleration;
  if (key) errors.at("key").check(qualifiedName, key);
  if (!key && operator !== "Exists") {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.at("operator").invalid(operator ?? "", detail);
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    errors.at("effect").invalid(effect ?? "", "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  if (operator === "Exists") {
    if (value) errors.at("operator").invalid(value, "value must be empty when `operator` is 'Exists'");
  } else if (!operator || operator === "Equal") {
    const problems = isLabelValue(value ?? "");
    if (problems.length > 0) errors.at("operator").invalid(value ?? "", problems.join(";"));
  } else if (comparisons && (operator === "Lt" || operator === "Gt")) {
    checkInteger(errors.at("value"), value ?? "");
  } else {
    // Two more are known, though not served.
    const more = operator === "Lt" || operator === "Gt" ? ["Lt", "Gt"] : [];
    errors.at("operator").notSupported(operator, ["Equal", "Exists", ...more]);
  }
  if (effect && !effects.includes(effect)) errors.at("effect").notSupported(effect, effects);
}

/** Validates an int64, with both of upstream's texts for an invalid one. */
function checkInteger(errors: FieldErrors, value: string): void {
  if (value === "") errors.invalid(value, "must be non-empty");
  else if (!isDecimalInteger(value))
    errors.invalid(value, "must be a valid decimal integer in canonical form");
  if (int64Of(value) !== undefined) return;
  const digits = /^[+-]?[0-9]+$/.test(value);
  // Other forms of a number are read, too.
  if (digits && int64Of(BigInt(value.replace(/^[+]/, "")).toString()) !== undefined) return;
  const problem = digits ? "value out of range" : "invalid syntax";
  errors.invalid(value, `strconv.ParseInt: parsing ${quoted(value)}: ${problem}`);
}

/** Keys of labels whose values are taken from the pod itself. */
function checkLabelKeys(
  errors: FieldErrors,
  selector: LabelSelector | undefined,
  lists: { readonly matchLabelKeys?: readonly string[]; readonly mismatchLabelKeys?: readonly string[] },
): void {
  for (const name of ["matchLabelKeys", "mismatchLabelKeys"] as const) {
    const keys = lists[name] ?? [];
    if (keys.length === 0) continue;
    if (!selector) {
      errors.at(name).forbidden("must not be specified when labelSelector is not set");
      continue;
    }
    keys.forEach((key, index) => {
      errors.at(name).index(index).check(qualifiedName, key);
    });
  }
  const matched = lists.matchLabelKeys ?? [];
  const known = new Set(Object.keys(selector?.matchLabels ?? {}));
  const places = new Map(matched.map((key, index) => [key, index]));
  for (const { key } of selector?.matchExpressions ?? []) {
    const index = places.get(key);
    if (index !== undefined && known.has(key)) {
      errors.index(index).invalid(key, "exists in both matchLabelKeys and labelSelector");
    }
    known.add(key);
  }
  const mismatched = new Set(lists.mismatchLabelKeys);
  matched.forEach((key, index) => {
    if (!mismatched.has(key)) return;
    const detail = "exists in both matchLabelKeys and mismatchLabelKeys";
    errors.at("matchLabelKeys").index(index).invalid(key, detail);
  });
}

function checkPodTerm(errors: FieldErrors, term: PodAffinityTerm | undefined): void {
  checkLabelSelector(errors.at("labelSelector"), term?.labelSelector);
  checkLabelSelector(errors.at("namespaceSelector"), term?.namespaceSelector);
  // Upstream's path has the singular and no index here.
  for (const name of term?.namespaces ?? []) errors.at("namespace").check(dnsLabel, name);
  checkLabelKeys(errors, term?.labelSelector, term ?? {});
  if (!term?.topologyKey) errors.at("topologyKey").required("can not be empty");
  errors.at("topologyKey").check(qualifiedName, term?.topologyKey ?? "");
}

function checkWeight(errors: FieldErrors, weight: number): void {
  if (weight <= 0 || weight > 100) errors.at("weight").invalid(weight, "must be in the range 1-100");
}

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

export function checkAffinity(errors: FieldErrors, { affinity }: PodSpec): void {
  const node = affinity?.nodeAffinity;
  const selector = node?.[required];
  if (selector) checkNodeSelector(errors.at("nodeAffinity").at(required), selector);
  (node?.[preferred] ?? []).forEach((term, index) => {
    const here = errors.at("nodeAffinity").at(preferred).index(index);
    checkWeight(here, term.weight ?? 0);
    checkNodeSelectorTerm(here.at("preference"), term.preference ?? {}, true);
  });
  for (const name of ["podAffinity", "podAntiAffinity"] as const) {
    (affinity?.[name]?.[required] ?? []).forEach((term, index) => {
      checkPodTerm(errors.at(name).at(required).index(index), term);
    });
    (affinity?.[name]?.[preferred] ?? []).forEach((term, index) => {
      const here = errors.at(name).at(preferred).index(index);
      checkWeight(here, term.weight ?? 0);
      checkPodTerm(here.at("podAffinityTerm"), term.podAffinityTerm);
    });
  }
}

export function checkSpreading(errors: FieldErrors, spec: PodSpec): void {
  const constraints = spec.topologySpreadConstraints ?? [];
  const pair = ({ topologyKey = "", whenUnsatisfiable = "" }: TopologySpreadConstraint): string =>
    JSON.stringify([topologyKey, whenUnsatisfiable]);
  const last = new Map(constraints.map((constraint, index) => [pair(constraint), index]));
  constraints.forEach((constraint, index) => {
    const here = errors.index(index);
    const { maxSkew = 0, topologyKey = "", whenUnsatisfiable: action = "", minDomains } = constraint;
    if (maxSkew <= 0) here.at("maxSkew").invalid(maxSkew, "must be greater than zero");
    if (topologyKey === "") here.at("topologyKey").required("can not be empty");
    const actions = ["DoNotSchedule", "ScheduleAnyway"];
    if (!actions.includes(action)) here.at("whenUnsatisfiable").notSupported(action, actions);
    if (last.get(pair(constraint)) !== index) {
      here.at("{topologyKey, whenUnsatisfiable}").duplicate(`{${topologyKey}, ${action}}`);
    }
    if (minDomains !== undefined && minDomains !== null) {
      if (minDomains <= 0) here.at("minDomains").invalid(minDomains, "must be greater than zero");
      if (action !== "DoNotSchedule") {
        const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`;
        here.at("minDomains").invalid(minDomains, detail);
      }
    }
    for (const name of ["nodeAffinityPolicy", "nodeTaintsPolicy"] as const) {
      const policy = constraint[name];
      const policies = ["Honor", "Ignore"];
      if (policy !== undefined && policy !== null && !policies.includes(policy)) {
        here.at(name).notSupported(policy, policies);
      }
    }
    checkLabelKeys(here, constraint.labelSelector, constraint);
    checkLabelSelector(here.at("labelSelector"), constraint.labelSelector);
  });
}

/** `comparisons`: with the operators Lt and Gt (gate TaintTolerationComparisonOperators, KEP-5471). */
export function checkTolerations(errors: FieldErrors, spec: PodSpec, comparisons = false): void {
  (spec.tolerations ?? []).forEach((toleration, index) => {
    checkToleration(errors.index(index), toleration, comparisons);
  });
}

/** Whether tolerations of pods may have the operators Lt and Gt. */
export function allowsComparisons(features: Features): boolean {
  return features.enabled("TaintTolerationComparisonOperators");
}

/** Names of scheduling gates (KEP-3521). */
export function checkGates(errors: FieldErrors, spec: PodSpec): void {
  const gates = spec.schedulingGates ?? [];
  const repeated = seenBefore();
  gates.forEach(({ name }, index) => {
    errors.index(index).check(qualifiedName, name ?? "");
    if (repeated(name ?? "")) errors.index(index).duplicate(name ?? "");
  });
}
