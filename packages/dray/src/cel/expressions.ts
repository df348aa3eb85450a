import { groupOf, isStored, labelOf } from "../manifests/decode.ts";
import type { Draft } from "../manifests/documents.ts";

/**
 * The use of an expression. `selector` and `attribute`: of devices; `policy`: in admission policies and
 * conditions of webhooks; `rule`: in a CustomResourceDefinition.
 */
export type ExpressionKind = "selector" | "attribute" | "policy" | "rule";

/** A CEL expression in a manifest. */
export interface FoundExpression {
  readonly draft: Draft;
  /** `DeviceClass gpu` */
  readonly object: string;
  /** Its path in the object as written, in the form of field errors. */
  readonly path: string;
  readonly kind: ExpressionKind;
  readonly expression: string;
  /** By the rules for new objects; stored objects may use every feature. */
  readonly fresh: boolean;
}

/** Namespaced kinds with expressions. */
const namespaced: ReadonlySet<string> = new Set(["ResourceClaim", "ResourceClaimTemplate"]);

type Add = (path: string, kind: ExpressionKind, expression: unknown) => void;

/** Finds the expressions in an object of one kind. */
type Walk = (tree: Draft["tree"], add: Add) => void;

/** `#` is any index. */
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

/** By `group/kind`, for all versions. */
const walks: ReadonlyMap<string, Walk> = new Map<string, Walk>([
  ["admissionregistration.k8s.io/ValidatingAdmissionPolicy", at(ofPolicies)],
  ["admissionregistration.k8s.io/MutatingAdmissionPolicy", at(ofPolicies)],
  ["admissionregistration.k8s.io/ValidatingWebhookConfiguration", at(ofWebhooks)],
  ["admissionregistration.k8s.io/MutatingWebhookConfiguration", at(ofWebhooks)],
  ["apiextensions.k8s.io/CustomResourceDefinition", ({ spec }, add) => walkDefinition(spec, add)],
]);

/** Returns all CEL expressions of an object, in order. */
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

/** Finds device selectors and derived attributes at any depth. */
function walkDevices(value: unknown, path: string, add: Add): void {
  each(value, path, (below, at, key) => {
    if (key === "cel") add(`${at}.expression`, "selector", fieldOf(below, "expression"));
    else if (key === "derivedAttributes" && Array.isArray(below))
      each(below, at, (one, place) => add(`${place}.expression`, "attribute", fieldOf(one, "expression")));
    else walkDevices(below, at, add);
  });
}

/** Calls `visit` with the values at a path. */
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

/** Fields of a schema with one schema, a list of schemas, and a map of schemas. */
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

/** Yields the items of a list or the fields of a map, with their paths. */
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
