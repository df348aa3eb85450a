import { groupOf, isStored, labelOf } from "../manifests/decode.ts";
import type { Draft } from "../manifests/documents.ts";

/**
 * Purpose of an expression. `selector` and `attribute`: of devices; `policy`: of admission policies and
 * conditions of webhooks; `rule`: of a CustomResourceDefinition.
 */
export type ExpressionKind = "selector" | "attribute" | "policy" | "rule";

/** A CEL expression in a manifest. */
export interface FoundExpression {
  readonly draft: Draft;
  /** `DeviceClass gpu` */
  readonly object: string;
  /** Where it stands in the object as it was written, in the form of field errors. */
  readonly path: string;
  readonly kind: ExpressionKind;
  readonly expression: string;
  /** By the rules for new objects; what a server has stored may use everything. */
  readonly fresh: boolean;
}

/** Kinds that live in a namespace, of those that have expressions. */
const namespaced: ReadonlySet<string> = new Set(["ResourceClaim", "ResourceClaimTemplate"]);

type Add = (path: string, kind: ExpressionKind, expression: unknown) => void;

/** Finds the expressions of one kind of objects. */
type Walk = (tree: Draft["tree"], add: Add) => void;

/** `#` stands for any index. */
const ofPolicies = [
  ["spec.matchConditions#.expression", "policy"],
  ["spec.variables#.expression", "policy"],
  ["spec.validations#.expression", "policy"],
  ["spec.validations#.messageExpression", "policy"],
  ["spec.auditAnnotations#.valueExpression", "policy"],
  ["spec.mutations#.applyConfiguration.expression", "policy"],
  ["spec.mutations#.jsonPatch.expression", "policy"],
] as const;
const ofWebhooks = [["webhooks#.matchConditions#.expression", "policy"]] as const;

const at =
  (paths: readonly (readonly [path: string, kind: ExpressionKind])[]): Walk =>
  (tree, add) => {
    for (const [path, kind] of paths) follow(tree, "", path.split("."), (at, value) => add(at, kind, value));
  };

/** By `group/kind`, whatever the version. */
const walks: ReadonlyMap<string, Walk> = new Map<string, Walk>([
  ["admissionregistration.k8s.io/ValidatingAdmissionPolicy", at(ofPolicies)],
  ["admissionregistration.k8s.io/MutatingAdmissionPolicy", at(ofPolicies)],
  ["admissionregistration.k8s.io/ValidatingWebhookConfiguration", at(ofWebhooks)],
  ["admissionregistration.k8s.io/MutatingWebhookConfiguration", at(ofWebhooks)],
  ["apiextensions.k8s.io/CustomResourceDefinition", ({ spec }, add) => walkDefinition(spec, add)],
]);

/** All CEL expressions of an object, from top to bottom. */
export function expressionsOf(draft: Draft, namespace: string): FoundExpression[] {
  const group = groupOf(draft.apiVersion);
  const ofDevices: Walk | undefined =
    group === "resource.k8s.io" ? ({ spec }, add) => walkDevices(spec, "spec", add) : undefined;
  const walk = ofDevices ?? walks.get(`${group}/${draft.kind}`);
  if (walk === undefined) return [];
  const object = labelOf(draft, namespaced.has(draft.kind) ? namespace : undefined);
  const found: FoundExpression[] = [];
  walk(draft.tree, (path, kind, expression) => {
    if (typeof expression === "string")
      found.push({ draft, object, path, kind, expression, fresh: !isStored(draft) });
  });
  return found;
}

/** Device selectors and derived attributes, wherever they stand. */
function walkDevices(value: unknown, path: string, add: Add): void {
  each(value, path, (below, at, key) => {
    if (key === "cel") add(`${at}.expression`, "selector", fieldOf(below, "expression"));
    else if (key === "derivedAttributes" && Array.isArray(below))
      each(below, at, (one, place) => add(`${place}.expression`, "attribute", fieldOf(one, "expression")));
    else walkDevices(below, at, add);
  });
}

/** Calls `visit` with what a path leads to. */
function follow(
  value: unknown,
  path: string,
  [step, ...rest]: readonly string[],
  visit: (path: string, value: unknown) => void,
): void {
  if (step === undefined) {
    visit(path, value);
    return;
  }
  const name = step.replace(/#$/, "");
  const below = fieldOf(value, name);
  const at = path === "" ? name : `${path}.${name}`;
  if (name === step) follow(below, at, rest, visit);
  else if (Array.isArray(below)) each(below, at, (one, place) => follow(one, place, rest, visit));
}

function walkDefinition(spec: unknown, add: Add): void {
  follow({ spec }, "", ["spec", "versions#", "schema", "openAPIV3Schema"], (path, schema) =>
    walkSchema(schema, path, add),
  );
}

/** Fields of a schema that hold one schema, a list of them, and a map of them. */
const single: ReadonlySet<string> = new Set(["additionalProperties", "items", "not"]);
const lists: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf"]);
const maps: ReadonlySet<string> = new Set(["properties"]);

function walkSchema(schema: unknown, path: string, add: Add): void {
  each(schema, path, (below, at, key) => {
    if (key === "x-kubernetes-validations" && Array.isArray(below)) {
      each(below, at, (rule, place) => {
        add(`${place}.rule`, "rule", fieldOf(rule, "rule"));
        add(`${place}.messageExpression`, "rule", fieldOf(rule, "messageExpression"));
      });
    } else if (single.has(key)) walkSchema(below, at, add);
    else if (lists.has(key) && Array.isArray(below))
      each(below, at, (one, place) => walkSchema(one, place, add));
    else if (maps.has(key) && isMap(below)) {
      for (const [name, one] of Object.entries(below)) walkSchema(one, `${at}[${name}]`, add);
    }
  });
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const fieldOf = (value: unknown, name: string): unknown => (isMap(value) ? value[name] : undefined);

/** The items of a list or the fields of a map, with their paths. */
function each(
  value: unknown,
  path: string,
  visit: (value: unknown, path: string, key: string) => void,
): void {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) visit(item, `${path}[${i}]`, String(i));
  } else if (isMap(value))
    for (const [key, below] of Object.entries(value)) visit(below, path === "" ? key : `${path}.${key}`, key);
}
