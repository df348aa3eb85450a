import type { KubernetesVersion } from "@dray/api";
import type { CustomResourceDefinitionStatus } from "@dray/api/apiextensions/v1";
import { FieldErrors } from "@dray/api/validation";
import { approvalOf } from "./approval.ts";
import { structuralErrors } from "./structural.ts";
import { type Definition, isTrue, type Names } from "./types.ts";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

type Status = CustomResourceDefinitionStatus;
type Conditions = NonNullable<Status["conditions"]>;

/**
 * Returns the conditions with one of them set; lastTransitionTime changes only with the status. `now`: RFC
 * 3339.
 */
export function withCondition(
  conditions: Conditions | undefined,
  condition: Condition,
  now: string,
): Conditions {
  const all = [...(conditions ?? [])];
  const index = all.findIndex(({ type }) => type === condition.type);
  const old = all[index];
  const since = old?.status === condition.status ? old.lastTransitionTime : undefined;
  const next = { ...condition, lastTransitionTime: since || now };
  if (index < 0) all.push(next);
  else all[index] = next;
  return all;
}

/** Names that other definitions of the group have accepted. */
interface NamesInUse {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

function namesInUse(others: readonly Definition[]): NamesInUse {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { status } of others) {
    const { plural, singular, shortNames = [], kind, listKind } = status?.acceptedNames ?? {};
    for (const name of [plural, singular, ...shortNames]) if (name) resources.add(name);
    for (const name of [kind, listKind]) if (name) kinds.add(name);
  }
  return { resources, kinds };
}

/**
 * Returns the status with the accepted names: each name that no other definition of its group has. Undefined
 * if nothing changes. (apiextensions.k8s.io NamesAccepted and the first Established.)
 */
export function nameStatus(
  definition: Definition,
  group: readonly Definition[],
  now: string,
): Status | undefined {
  const desired = definition.spec.names;
  const accepted: Partial<Names> = definition.status?.acceptedNames ?? {};
  if (sameNames(desired, accepted)) return undefined;
  const inUse = namesInUse(group);
  const names: Partial<Names> = { ...accepted };
  let refused: Condition | undefined;
  const refuse = (reason: string, message: string): void => {
    refused = { type: "NamesAccepted", status: "False", reason, message };
  };
  const claim = (field: "plural" | "singular" | "kind" | "listKind", used: ReadonlySet<string>): void => {
    const name = desired[field] ?? "";
    if (name !== (accepted[field] ?? "") && used.has(name)) {
      refuse(`${field[0]!.toUpperCase()}${field.slice(1)}Conflict`, `"${name}" is already in use`);
    } else names[field] = name;
  };
  claim("plural", inUse.resources);
  claim("singular", inUse.resources);
  const short = desired.shortNames ?? [];
  const own = new Set(accepted.shortNames);
  const conflicts = short
    .filter((name) => !own.has(name) && inUse.resources.has(name))
    .map((name) => `"${name}" is already in use`);
  if (conflicts.length > 0) {
    refuse("ShortNamesConflict", conflicts.length === 1 ? conflicts[0]! : `[${conflicts.join(", ")}]`);
  } else if (desired.shortNames === undefined) delete names.shortNames;
  else names.shortNames = desired.shortNames;
  claim("kind", inUse.kinds);
  claim("listKind", inUse.kinds);
  if (desired.categories === undefined) delete names.categories;
  else names.categories = desired.categories;
  const naming = refused ?? {
    type: "NamesAccepted",
    status: "True",
    reason: "NoConflicts",
    message: "no conflicts found",
  };
  const known = definition.status?.conditions?.find(({ type }) => type === "NamesAccepted");
  const unchanged =
    sameNames(names, accepted) && known?.reason === naming.reason && known.message === naming.message;
  if (unchanged) return undefined;
  let conditions = withCondition(definition.status?.conditions, naming as Condition, now);
  if (!isTrue(definition, "Established")) {
    const established: Condition =
      naming.status === "True"
        ? { type: "Established", status: "False", reason: "Installing", message: initialNames }
        : {
            type: "Established",
            status: "False",
            reason: "NotAccepted",
            message: "not all names are accepted",
          };
    const before = definition.status?.conditions?.some(({ type }) => type === "Established");
    if (!before || naming.status === "True") conditions = withCondition(conditions, established, now);
  }
  return { ...definition.status, acceptedNames: names as Names, conditions };
}

const initialNames = "the initial names have been accepted";

function sameNames(a: Partial<Names>, b: Partial<Names>): boolean {
  const list = (names: readonly string[] | undefined): string => (names ?? []).join(",");
  return (
    (a.plural ?? "") === (b.plural ?? "") &&
    (a.singular ?? "") === (b.singular ?? "") &&
    (a.kind ?? "") === (b.kind ?? "") &&
    (a.listKind ?? "") === (b.listKind ?? "") &&
    list(a.shortNames) === list(b.shortNames) &&
    list(a.categories) === list(b.categories)
  );
}

/** Returns the next condition that must change: approval, schemas, or established. */
export function nextCondition(definition: Definition, release: KubernetesVersion): Condition | undefined {
  const desired = [
    approvalCondition(definition),
    schemaCondition(definition, release),
    established(definition),
  ];
  return desired.find((condition) => {
    if (condition === undefined) return false;
    const known = definition.status?.conditions?.find(({ type }) => type === condition.type);
    return (
      known?.status !== condition.status ||
      known.reason !== condition.reason ||
      known.message !== condition.message
    );
  });
}

function established(definition: Definition): Condition | undefined {
  if (!isTrue(definition, "NamesAccepted") || isTrue(definition, "Established")) return undefined;
  return { type: "Established", status: "True", reason: "InitialNamesAccepted", message: initialNames };
}

const approvals = {
  Missing: ["False", "MissingAnnotation"],
  Approved: ["True", "ApprovedAnnotation"],
  Bypassed: ["False", "UnapprovedAnnotation"],
  Invalid: ["False", "InvalidAnnotation"],
} as const;

function approvalCondition(definition: Definition): Condition | undefined {
  const approval = approvalOf(definition);
  if (approval === undefined) return undefined;
  const [status, reason] = approvals[approval.state];
  return { type: "KubernetesAPIApprovalPolicyConformant", status, reason, message: approval.reason };
}

/** Conditions by what they are about: a definition keeps its spec when its status changes. */
const schemaConditions = new WeakMap<object, { readonly condition: Condition | undefined }>();

/** Stored definitions may have schemas from before schemas had to be structural. */
function schemaCondition({ spec }: Definition, release: KubernetesVersion): Condition | undefined {
  let known = schemaConditions.get(spec);
  if (known === undefined) {
    known = { condition: newSchemaCondition(spec, release) };
    schemaConditions.set(spec, known);
  }
  return known.condition;
}

function newSchemaCondition(spec: Definition["spec"], release: KubernetesVersion): Condition | undefined {
  for (const [index, { schema }] of (spec.versions ?? []).entries()) {
    if (schema?.openAPIV3Schema === undefined) continue;
    const errors = new FieldErrors({ release }).at("spec.versions").index(index).at("schema.openAPIV3Schema");
    const [first] = structuralErrors(errors, schema.openAPIV3Schema);
    if (first === undefined) continue;
    return {
      type: "NonStructuralSchema",
      status: "True",
      reason: "Violations",
      message: `${first.path}: ${first.detail}`,
    };
  }
  return undefined;
}
