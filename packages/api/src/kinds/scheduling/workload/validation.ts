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
