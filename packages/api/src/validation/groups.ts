/** PodGroup, CompositePodGroup and Workload. Upstream: api/scheduling/v1beta1/types.go, apis/scheduling/validation. */
import type { CompositePodGroup } from "../generated/scheduling/v1alpha3.ts";
import type {
  CompositePodGroupTemplate,
  PodGroup,
  PodGroupResourceClaim,
  PodGroupSpec,
  PodGroupTemplate,
  TopologyConstraint,
  Workload,
  WorkloadReference,
  WorkloadSpec,
} from "../generated/scheduling/v1beta1.ts";
import { dnsLabel, longName, pathSegment, qualifiedName } from "../values/names.ts";
import { checkConditions } from "./conditions.ts";
import type { ValidationContext } from "./context.ts";
import { type FieldErrors, sameValue } from "./field.ts";
import { checkObject, checkObjectUpdate } from "./workloads/common.ts";

/** HighestUserDefinablePriority */
const maxPriority = 1_000_000_000;
const maxTemplates = 8;
const maxClaims = 4;
/** WorkloadMaxTemplateDepth */
const maxDepth = 4;

type Struct = Readonly<Record<string, unknown>>;
type Group = PodGroup | CompositePodGroup;
type GroupSpec = Omit<PodGroupSpec, "schedulingPolicy"> & { readonly schedulingPolicy?: unknown };

/** Exactly one of these fields is set. Upstream: k8s.io/apimachinery/pkg/api/validate/union.go */
function checkUnion(errors: FieldErrors, path: string, value: unknown, ...fields: readonly string[]): void {
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
function checkPolicy(errors: FieldErrors, path: string, value: unknown, minimum: string): void {
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
function checkNames(
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

/** What groups and their templates have in common. */
function checkShared(errors: FieldErrors, path: string, spec: GroupSpec, minimum: string): void {
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

function checkReference(errors: FieldErrors, path: string, reference: WorkloadReference | undefined): void {
  if (!reference) return;
  errors.checkRequired(longName, `${path}.workloadName`, reference.workloadName);
  errors.checkRequired(dnsLabel, `${path}.templateName`, reference.templateName);
}

function checkParent(errors: FieldErrors, { parentCompositePodGroupName: parent }: GroupSpec): void {
  if (parent !== undefined) errors.check(longName, "spec.parentCompositePodGroupName", parent);
}

function checkFixed(errors: FieldErrors, spec: object, old: object, fields: readonly string[]): void {
  for (const field of fields)
    if (!sameValue((spec as Struct)[field], (old as Struct)[field]))
      errors.invalid(`spec.${field}`, null, "field is immutable");
}

/** A gang stays a gang, with another minimum perhaps. */
function checkPolicyUpdate(errors: FieldErrors, policy: Struct, old: Struct): void {
  const path = "spec.schedulingPolicy";
  if (!sameValue(policy["basic"], old["basic"])) errors.invalid(`${path}.basic`, null, "field is immutable");
  const [isGang, wasGang] = [policy, old].map(({ gang }) => gang !== undefined && gang !== null);
  if (isGang && !wasGang) errors.invalid(`${path}.gang`, null, "field cannot be set once created");
  if (wasGang && !isGang) errors.invalid(`${path}.gang`, null, "field cannot be cleared once set");
}

const isOlder = ({ features }: ValidationContext): boolean => features.version < "1.37";

export const podGroup = {
  create(errors: FieldErrors, object: PodGroup, context: ValidationContext): void {
    checkObject(errors, object);
    if (isOlder(context)) return;
    const { spec } = object;
    if (spec?.parentCompositePodGroupName !== undefined && !spec.workloadRef)
      errors.required("spec.workloadRef", "must be set when parentCompositePodGroupName is set");
    checkParent(errors, spec ?? {});
    checkReference(errors, "spec.workloadRef", spec?.workloadRef);
    checkShared(errors, "spec", spec ?? {}, "minCount");
  },
  update(errors: FieldErrors, object: PodGroup, old: PodGroup, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    if (isOlder(context)) return;
    checkFixed(errors, object.spec, old.spec, ["parentCompositePodGroupName", "workloadRef"]);
    const [policy, before] = [object, old].map(({ spec }) => (spec.schedulingPolicy ?? {}) as Struct);
    checkPolicyUpdate(errors, policy!, before!);
    checkPolicy(errors, "spec.schedulingPolicy", policy, "minCount");
    checkFixed(errors, object.spec, old.spec, [
      "schedulingConstraints",
      "resourceClaims",
      "disruptionMode",
      "priorityClassName",
      "priority",
      "preemptionPolicy",
    ]);
  },
  status(errors: FieldErrors, object: PodGroup, old: PodGroup): void {
    checkObjectUpdate(errors, object, old);
    checkConditions(errors, "status.conditions", object.status?.conditions);
    const known = new Set((object.spec.resourceClaims ?? []).map(({ name }) => name));
    const path = "status.resourceClaimStatuses";
    errors.items(path, object.status?.resourceClaimStatuses, maxClaims, (status, at) => {
      if (!known.has(status.name))
        errors.invalid(`${at}.name`, status.name, "must match the name of an entry in `spec.resourceClaims`");
      if (status.resourceClaimName !== undefined)
        errors.check(longName, `${at}.resourceClaimName`, status.resourceClaimName);
    });
    checkNames(errors, path, object.status?.resourceClaimStatuses);
  },
};

export const compositePodGroup = {
  create(errors: FieldErrors, object: CompositePodGroup): void {
    checkObject(errors, object);
    const { spec } = object;
    checkParent(errors, spec ?? {});
    if (!spec?.workloadRef) errors.required("spec.workloadRef");
    checkReference(errors, "spec.workloadRef", spec?.workloadRef);
    checkShared(errors, "spec", spec ?? {}, "minGroupCount");
  },
  update(errors: FieldErrors, object: CompositePodGroup, old: CompositePodGroup): void {
    checkObjectUpdate(errors, object, old);
    checkFixed(errors, object.spec, old.spec, [
      "parentCompositePodGroupName",
      "workloadRef",
      "schedulingPolicy",
      "schedulingConstraints",
      "disruptionMode",
      "priorityClassName",
      "priority",
      "preemptionPolicy",
    ]);
  },
  status(errors: FieldErrors, object: Group, old: Group): void {
    checkObjectUpdate(errors, object, old);
    checkConditions(errors, "status.conditions", object.status?.conditions);
  },
};

/** Visits every template with its path; `depth` of those in the spec is 1. */
function visit(
  owner: Pick<WorkloadSpec, "podGroupTemplates" | "compositePodGroupTemplates">,
  path: string,
  see: (
    template: PodGroupTemplate | CompositePodGroupTemplate,
    path: string,
    isComposite: boolean,
    depth: number,
  ) => void,
  depth = 1,
): void {
  (owner.podGroupTemplates ?? []).forEach((template, i) => {
    see(template, `${path}.podGroupTemplates[${i}]`, false, depth);
  });
  (owner.compositePodGroupTemplates ?? []).forEach((template, i) => {
    const at = `${path}.compositePodGroupTemplates[${i}]`;
    see(template, at, true, depth);
    visit(template, at, see, depth + 1);
  });
}

/** Upstream: ValidateWorkloadSpec. */
function checkWorkload(errors: FieldErrors, { spec }: Workload): void {
  checkUnion(
    errors,
    "spec",
    // An empty list is no list.
    Object.fromEntries(
      (["podGroupTemplates", "compositePodGroupTemplates"] as const).map((field) => [
        field,
        spec?.[field]?.length ? spec[field] : undefined,
      ]),
    ),
    "podGroupTemplates",
    "compositePodGroupTemplates",
  );
  if (!spec) return;
  const { controllerRef } = spec;
  if (controllerRef) {
    if (controllerRef.apiGroup) errors.check(longName, "spec.controllerRef.apiGroup", controllerRef.apiGroup);
    errors.checkRequired(pathSegment, "spec.controllerRef.kind", controllerRef.kind);
    errors.checkRequired(pathSegment, "spec.controllerRef.name", controllerRef.name);
  }
  const names = new Set<string>();
  let first: { readonly priorityClassName?: string; readonly priority?: number } | undefined;
  let differs = false;
  const tooMany = (path: string, list: readonly unknown[] | undefined): void => {
    if ((list?.length ?? 0) > maxTemplates) errors.tooMany(path, list!.length, maxTemplates);
  };
  tooMany("spec.podGroupTemplates", spec.podGroupTemplates);
  tooMany("spec.compositePodGroupTemplates", spec.compositePodGroupTemplates);
  visit(spec, "spec", (template, path, isComposite, depth) => {
    errors.checkRequired(dnsLabel, `${path}.name`, template.name);
    if (names.has(template.name)) errors.duplicate(`${path}.name`, template.name);
    names.add(template.name);
    checkShared(errors, path, template as GroupSpec, isComposite ? "minGroupCount" : "minCount");
    first ??= template;
    differs ||=
      (first.priorityClassName ?? "") !== (template.priorityClassName ?? "") ||
      first.priority !== template.priority;
    if (!isComposite) return;
    const { podGroupTemplates, compositePodGroupTemplates } = template as CompositePodGroupTemplate;
    tooMany(`${path}.podGroupTemplates`, podGroupTemplates);
    tooMany(`${path}.compositePodGroupTemplates`, compositePodGroupTemplates);
    if (depth === maxDepth) errors.invalid(path, null, `maximum template hierarchy depth is ${maxDepth}`);
    if (!podGroupTemplates?.length && !compositePodGroupTemplates?.length)
      errors.invalid(
        path,
        template.name,
        "must have at least one child PodGroupTemplate or CompositePodGroupTemplate",
      );
  });
  if (differs)
    errors.invalid(
      "spec",
      null,
      spec.podGroupTemplates?.length
        ? "detected multiple priority configurations"
        : "all priority and priorityClassName values must be identical, detected multiple values",
    );
}

export const workload = {
  create(errors: FieldErrors, object: Workload, context: ValidationContext): void {
    checkObject(errors, object);
    if (!isOlder(context)) checkWorkload(errors, object);
  },
  update(errors: FieldErrors, object: Workload, old: Workload, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    if (isOlder(context)) return;
    // Upstream lets the minimum of a gang be changed only.
    checkFixed(errors, withoutMinima(object.spec), withoutMinima(old.spec), [
      "controllerRef",
      "podGroupTemplates",
      "compositePodGroupTemplates",
    ]);
    checkWorkload(errors, object);
  },
};

function withoutMinima<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutMinima) as T;
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => key !== "minCount" && key !== "minGroupCount");
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutMinima(each as unknown)])) as T;
}
