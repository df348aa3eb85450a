import type { ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type {
  CompositePodGroupTemplate,
  PodGroupTemplate,
  Workload,
  WorkloadSpec,
} from "../../../generated/scheduling/v1beta1.ts";
import { dnsLabel, longName, pathSegment } from "../../../values/names.ts";
import { checkFixed, checkShared, checkUnion, type GroupSpec, isOlder } from "../groups.ts";

const maxTemplates = 8;

/** WorkloadMaxTemplateDepth */
const maxDepth = 4;

/** Visits every template at its place; `depth` of those in the spec is 1. */
function visit(
  errors: FieldErrors,
  owner: Pick<WorkloadSpec, "podGroupTemplates" | "compositePodGroupTemplates">,
  see: (
    errors: FieldErrors,
    template: PodGroupTemplate | CompositePodGroupTemplate,
    isComposite: boolean,
    depth: number,
  ) => void,
  depth = 1,
): void {
  (owner.podGroupTemplates ?? []).forEach((template, i) => {
    see(errors.at("podGroupTemplates").index(i), template, false, depth);
  });
  (owner.compositePodGroupTemplates ?? []).forEach((template, i) => {
    const here = errors.at("compositePodGroupTemplates").index(i);
    see(here, template, true, depth);
    visit(here, template, see, depth + 1);
  });
}

/** Upstream: ValidateWorkloadSpec. */
function checkWorkload(errors: FieldErrors, { spec }: Workload): void {
  checkUnion(
    errors.at("spec"),
    // An empty list counts as unset.
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
    if (controllerRef.apiGroup)
      errors.at("spec.controllerRef.apiGroup").check(longName, controllerRef.apiGroup);
    errors.at("spec.controllerRef.kind").checkRequired(pathSegment, controllerRef.kind);
    errors.at("spec.controllerRef.name").checkRequired(pathSegment, controllerRef.name);
  }
  const names = new Set<string>();
  let first: { readonly priorityClassName?: string; readonly priority?: number } | undefined;
  let differs = false;
  const atMost = (scope: FieldErrors, list: readonly unknown[] | undefined): void => {
    const length = list?.length ?? 0;
    if (length > maxTemplates) scope.tooMany(length, maxTemplates);
  };
  atMost(errors.at("spec.podGroupTemplates"), spec.podGroupTemplates);
  atMost(errors.at("spec.compositePodGroupTemplates"), spec.compositePodGroupTemplates);
  visit(errors.at("spec"), spec, (here, template, isComposite, depth) => {
    here.at("name").checkRequired(dnsLabel, template.name);
    if (names.has(template.name)) here.at("name").duplicate(template.name);
    names.add(template.name);
    checkShared(here, template as GroupSpec, isComposite ? "minGroupCount" : "minCount");
    first ??= template;
    differs ||=
      (first.priorityClassName ?? "") !== (template.priorityClassName ?? "") ||
      first.priority !== template.priority;
    if (!isComposite) return;
    const { podGroupTemplates, compositePodGroupTemplates } = template as CompositePodGroupTemplate;
    atMost(here.at("podGroupTemplates"), podGroupTemplates);
    atMost(here.at("compositePodGroupTemplates"), compositePodGroupTemplates);
    if (depth === maxDepth) here.invalid(null, `maximum template hierarchy depth is ${maxDepth}`);
    if (!podGroupTemplates?.length && !compositePodGroupTemplates?.length)
      here.invalid(
        template.name,
        "must have at least one child PodGroupTemplate or CompositePodGroupTemplate",
      );
  });
  if (differs)
    errors
      .at("spec")
      .invalid(
        null,
        spec.podGroupTemplates?.length
          ? "detected multiple priority configurations"
          : "all priority and priorityClassName values must be identical, detected multiple values",
      );
}

export const workloadValidation = {
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
