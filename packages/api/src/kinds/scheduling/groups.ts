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
export function checkUnion(errors: FieldErrors, value: unknown, ...fields: readonly string[]): void {
  const struct = (value ?? {}) as Struct;
  const set = fields.filter((field) => struct[field] !== undefined && struct[field] !== null);
  const all = fields.map((field) => `\`${field}\``).join(", ");
  if (set.length === 0) errors.invalid("", `must specify one of: ${all}`);
  if (set.length > 1) errors.invalid(`{${set.join(", ")}}`, `must specify exactly one of: ${all}`);
}

function checkCount(errors: FieldErrors, count: number | undefined): void {
  if (!count) errors.required();
  else if (count < 1) errors.invalid(count, "must be greater than or equal to 1");
}

/** `minimum`: the name of the gang's field. */
export function checkPolicy(errors: FieldErrors, value: unknown, minimum: string): void {
  checkUnion(errors, value, "basic", "gang");
  const gang = (value as { gang?: Struct } | undefined)?.gang;
  if (gang) checkCount(errors.at("gang").at(minimum), gang[minimum] as number | undefined);
}

function checkTopology(errors: FieldErrors, topology: readonly TopologyConstraint[] | undefined): void {
  errors.at("topology").items(topology, 1, (here, { key }) => {
    here.at("key").checkRequired(qualifiedName, key);
  });
}

function checkClaims(errors: FieldErrors, claims: readonly PodGroupResourceClaim[] | undefined): void {
  const check = (here: FieldErrors, claim: PodGroupResourceClaim): void => {
    checkUnion(here, claim, "resourceClaimName", "resourceClaimTemplateName");
    here.at("name").checkRequired(dnsLabel, claim.name);
    for (const field of ["resourceClaimName", "resourceClaimTemplateName"] as const)
      if (claim[field] !== undefined) here.at(field).check(longName, claim[field]);
  };
  if (!errors.items(claims, maxClaims, check)) return;
  checkNames(errors, claims);
}

/** Items of a list with the name of one before them. */
export function checkNames(errors: FieldErrors, items: readonly { readonly name: string }[] = []): void {
  const seen = new Set<string>();
  items.forEach((item, i) => {
    if (seen.has(item.name)) errors.index(i).duplicate(item);
    seen.add(item.name);
  });
}

/** Checks that groups and their templates share. */
export function checkShared(errors: FieldErrors, spec: GroupSpec, minimum: string): void {
  checkPolicy(errors.at("schedulingPolicy"), spec.schedulingPolicy, minimum);
  const { schedulingConstraints, resourceClaims, disruptionMode, priorityClassName, priority } = spec;
  if (schedulingConstraints)
    checkTopology(errors.at("schedulingConstraints"), schedulingConstraints.topology);
  checkClaims(errors.at("resourceClaims"), resourceClaims);
  if (disruptionMode) checkUnion(errors.at("disruptionMode"), disruptionMode, "single", "all");
  if (priorityClassName) errors.at("priorityClassName").check(longName, priorityClassName);
  if (priority !== undefined && priority > maxPriority)
    errors.at("priority").invalid(priority, `must be less than or equal to ${maxPriority}`);
  const policy = spec.preemptionPolicy;
  if (policy !== undefined && policy !== "Never" && policy !== "PreemptLowerPriority")
    errors.at("preemptionPolicy").notSupported(policy, ["Never", "PreemptLowerPriority"]);
}

export function checkReference(errors: FieldErrors, reference: WorkloadReference | undefined): void {
  if (!reference) return;
  errors.at("workloadName").checkRequired(longName, reference.workloadName);
  errors.at("templateName").checkRequired(dnsLabel, reference.templateName);
}

export function checkParent(errors: FieldErrors, { parentCompositePodGroupName: parent }: GroupSpec): void {
  if (parent !== undefined) errors.at("spec.parentCompositePodGroupName").check(longName, parent);
}

export function checkFixed(errors: FieldErrors, spec: object, old: object, fields: readonly string[]): void {
  for (const field of fields)
    if (!sameValue((spec as Struct)[field], (old as Struct)[field]))
      errors.at("spec").at(field).invalid(null, "field is immutable");
}

export const isOlder = ({ features }: ValidationContext): boolean => features.version < "1.37";
