/** Checks that PodGroup, CompositePodGroup and Workload share. Upstream: pkg/apis/scheduling/validation */

import type { ValidationContext } from "../../checks/context.ts";
import { type FieldErrors, sameValue } from "../../checks/field.ts";
import type {
  PodGroupResourceClaim,
  PodGroupSpec,
  TopologyConstraint,
  WorkloadReference,
} from "../../generated/scheduling/v1beta1.ts";
import { dnsLabel, longName, qualifiedName } from "../../values/names.ts";

/** HighestUserDefinablePriority */
const maxPriority = 1_000_000_000;

export const maxClaims = 4;

export type Struct = Readonly<Record<string, unknown>>;

export type GroupSpec = Omit<PodGroupSpec, "schedulingPolicy"> & { readonly schedulingPolicy?: unknown };

/** Exactly one of these fields is set. Upstream: k8s.io/apimachinery/pkg/api/validate/union.go */
export function checkUnion(
  errors: FieldErrors,
  path: string,
  value: unknown,
  ...fields: readonly string[]
): void {
  const struct = (value ?? {}) as Struct;
  const set = fields.filter((field) => struct[field] !== undefined && struct[field] !== null);
  const all = fields.map((field) => `\`${field}\``).join(", ");
  if (set.length === 0) errors.invalid(path, "", `must specify one of: ${all}`);
  if (set.length > 1) errors.invalid(path, `{${set.join(", ")}}`, `must specify exactly one of: ${all}`);
}

function checkCount(errors: FieldErrors, path: string, count: number | undefined): void {
  if (!count) errors.required(path);
  else if (count < 1) errors.invalid(path, count, "must be greater than or equal to 1");
}

/** `minimum`: the name of the gang's field. */
export function checkPolicy(errors: FieldErrors, path: string, value: unknown, minimum: string): void {
  checkUnion(errors, path, value, "basic", "gang");
  const gang = (value as { gang?: Struct } | undefined)?.gang;
  if (gang) checkCount(errors, `${path}.gang.${minimum}`, gang[minimum] as number | undefined);
}

function checkTopology(
  errors: FieldErrors,
  path: string,
  topology: readonly TopologyConstraint[] | undefined,
): void {
  errors.items(`${path}.topology`, topology, 1, ({ key }, at) => {
    errors.checkRequired(qualifiedName, `${at}.key`, key);
  });
}

function checkClaims(
  errors: FieldErrors,
  path: string,
  claims: readonly PodGroupResourceClaim[] | undefined,
): void {
  const check = (claim: PodGroupResourceClaim, at: string): void => {
    checkUnion(errors, at, claim, "resourceClaimName", "resourceClaimTemplateName");
    errors.checkRequired(dnsLabel, `${at}.name`, claim.name);
    for (const field of ["resourceClaimName", "resourceClaimTemplateName"] as const)
      if (claim[field] !== undefined) errors.check(longName, `${at}.${field}`, claim[field]);
  };
  if (!errors.items(path, claims, maxClaims, check)) return;
  checkNames(errors, path, claims);
}

/** Items of a list with the name of one before them. */
export function checkNames(
  errors: FieldErrors,
  path: string,
  items: readonly { readonly name: string }[] = [],
): void {
  const seen = new Set<string>();
  items.forEach((item, i) => {
    if (seen.has(item.name)) errors.duplicate(`${path}[${i}]`, item);
    seen.add(item.name);
  });
}

/** Checks that groups and their templates share. */
export function checkShared(errors: FieldErrors, path: string, spec: GroupSpec, minimum: string): void {
  checkPolicy(errors, `${path}.schedulingPolicy`, spec.schedulingPolicy, minimum);
  const { schedulingConstraints, resourceClaims, disruptionMode, priorityClassName, priority } = spec;
  if (schedulingConstraints)
    checkTopology(errors, `${path}.schedulingConstraints`, schedulingConstraints.topology);
  checkClaims(errors, `${path}.resourceClaims`, resourceClaims);
  if (disruptionMode) checkUnion(errors, `${path}.disruptionMode`, disruptionMode, "single", "all");
  if (priorityClassName) errors.check(longName, `${path}.priorityClassName`, priorityClassName);
  if (priority !== undefined && priority > maxPriority)
    errors.invalid(`${path}.priority`, priority, `must be less than or equal to ${maxPriority}`);
  const policy = spec.preemptionPolicy;
  if (policy !== undefined && policy !== "Never" && policy !== "PreemptLowerPriority")
    errors.notSupported(`${path}.preemptionPolicy`, policy, ["Never", "PreemptLowerPriority"]);
}

export function checkReference(
  errors: FieldErrors,
  path: string,
  reference: WorkloadReference | undefined,
): void {
  if (!reference) return;
  errors.checkRequired(longName, `${path}.workloadName`, reference.workloadName);
  errors.checkRequired(dnsLabel, `${path}.templateName`, reference.templateName);
}

export function checkParent(errors: FieldErrors, { parentCompositePodGroupName: parent }: GroupSpec): void {
  if (parent !== undefined) errors.check(longName, "spec.parentCompositePodGroupName", parent);
}

export function checkFixed(errors: FieldErrors, spec: object, old: object, fields: readonly string[]): void {
  for (const field of fields)
    if (!sameValue((spec as Struct)[field], (old as Struct)[field]))
      errors.invalid(`spec.${field}`, null, "field is immutable");
}

export const isOlder = ({ features }: ValidationContext): boolean => features.version < "1.37";
