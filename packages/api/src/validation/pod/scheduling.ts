/** Where a pod may run: selectors, affinity, tolerations, spreading, gates. */
import type { PodAffinityTerm, PodSpec, Toleration } from "../../generated/core/v1.ts";
import { qualifiedName } from "../../names.ts";
import type { FieldErrors } from "../field.ts";
import { checkLabels } from "../metadata.ts";
import { checkLabelSelector, checkNodeSelector, checkNodeSelectorTerm } from "../nodeselector.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function checkToleration(errors: FieldErrors, path: string, toleration: Toleration): void {
  const { key, operator, value, effect, tolerationSeconds } = toleration;
  if (key) errors.check(qualifiedName, `${path}.key`, key);
  if (!key && operator !== "Exists") {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    errors.invalid(`${path}.operator`, operator ?? "", detail);
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    errors.invalid(
      `${path}.effect`,
      effect ?? "",
      "effect must be 'NoExecute' when `tolerationSeconds` is set",
    );
  }
  if (operator === "Exists") {
    if (value) errors.invalid(`${path}.operator`, value, "value must be empty when `operator` is 'Exists'");
  } else if (operator && operator !== "Equal") {
    errors.notSupported(`${path}.operator`, operator, ["Equal", "Exists"]);
  }
  if (effect && !effects.includes(effect)) errors.notSupported(`${path}.effect`, effect, effects);
}

function checkPodTerm(errors: FieldErrors, path: string, term: PodAffinityTerm | undefined): void {
  checkLabelSelector(errors, `${path}.labelSelector`, term?.labelSelector);
  if (!term?.topologyKey) errors.required(`${path}.topologyKey`, "can not be empty");
  else errors.check(qualifiedName, `${path}.topologyKey`, term.topologyKey);
}

function checkWeight(errors: FieldErrors, path: string, weight: number): void {
  if (weight <= 0 || weight > 100) errors.invalid(`${path}.weight`, weight, "must be in the range 1-100");
}

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

function checkAffinity(errors: FieldErrors, path: string, { affinity }: PodSpec): void {
  const node = affinity?.nodeAffinity;
  const selector = node?.[required];
  if (selector) checkNodeSelector(errors, `${path}.nodeAffinity.${required}`, selector);
  (node?.[preferred] ?? []).forEach((term, index) => {
    const at = `${path}.nodeAffinity.${preferred}[${index}]`;
    checkWeight(errors, at, term.weight ?? 0);
    checkNodeSelectorTerm(errors, `${at}.preference`, term.preference ?? {});
  });
  for (const name of ["podAffinity", "podAntiAffinity"] as const) {
    (affinity?.[name]?.[required] ?? []).forEach((term, index) => {
      checkPodTerm(errors, `${path}.${name}.${required}[${index}]`, term);
    });
    (affinity?.[name]?.[preferred] ?? []).forEach((term, index) => {
      const at = `${path}.${name}.${preferred}[${index}]`;
      checkWeight(errors, at, term.weight ?? 0);
      checkPodTerm(errors, `${at}.podAffinityTerm`, term.podAffinityTerm);
    });
  }
}

function checkSpreading(errors: FieldErrors, path: string, spec: PodSpec): void {
  (spec.topologySpreadConstraints ?? []).forEach((constraint, index) => {
    const at = `${path}[${index}]`;
    const skew = constraint.maxSkew ?? 0;
    if (skew <= 0) errors.invalid(`${at}.maxSkew`, skew, "must be greater than zero");
    if (!constraint.topologyKey) errors.required(`${at}.topologyKey`, "can not be empty");
    const actions = ["DoNotSchedule", "ScheduleAnyway"];
    const action = constraint.whenUnsatisfiable ?? "";
    if (!actions.includes(action)) errors.notSupported(`${at}.whenUnsatisfiable`, action, actions);
    checkLabelSelector(errors, `${at}.labelSelector`, constraint.labelSelector);
  });
}

export function checkTolerations(errors: FieldErrors, path: string, spec: PodSpec): void {
  (spec.tolerations ?? []).forEach((toleration, index) => {
    checkToleration(errors, `${path}[${index}]`, toleration);
  });
}

/** A pod with gates is not scheduled, so it cannot have a node yet (KEP-3521). */
function checkGates(errors: FieldErrors, path: string, spec: PodSpec): void {
  const gates = spec.schedulingGates ?? [];
  gates.forEach(({ name }, index) => {
    errors.check(qualifiedName, `${path}[${index}]`, name ?? "");
    if (gates.findIndex((gate) => gate.name === name) < index)
      errors.duplicate(`${path}[${index}]`, name ?? "");
  });
}

/** `nodeSelector`, `affinity`, `topologySpreadConstraints`, `tolerations`, `schedulingGates`. */
export function checkPlacement(errors: FieldErrors, path: string, spec: PodSpec): void {
  checkLabels(errors, `${path}.nodeSelector`, spec.nodeSelector);
  checkAffinity(errors, `${path}.affinity`, spec);
  checkTolerations(errors, `${path}.tolerations`, spec);
  checkSpreading(errors, `${path}.topologySpreadConstraints`, spec);
  checkGates(errors, `${path}.schedulingGates`, spec);
  if (spec.nodeName && (spec.schedulingGates ?? []).length > 0) {
    errors.forbidden(`${path}.nodeName`, "cannot be set until all schedulingGates have been cleared");
  }
}
