import { deepEqual } from "../storage/json.ts";

type JSONObject = Readonly<Record<string, unknown>>;
type Named = Readonly<Record<string, JSONObject>>;

/** An OpenAPI v2 document: the fields that are merged. */
export interface Swagger {
  readonly paths?: Named;
  readonly definitions?: Named;
  /** Parameters that operations refer to. */
  readonly parameters?: Named;
}

const definitionsRoot = "#/definitions/";
const parametersRoot = "#/parameters/";

/**
 * Returns the part of a document for the paths with this prefix, with all types that they refer to.
 * References to parameters are replaced by the parameters.
 *
 * Upstream: k8s.io/kube-openapi/pkg/aggregator, FilterSpecByPathsWithoutSideEffects
 */
export function swaggerOf(
  { paths = {}, definitions = {}, parameters = {} }: Swagger,
  prefix: string,
): Swagger {
  const own = Object.entries(paths).filter(([path]) => path.startsWith(prefix));
  const kept = withParameters(Object.fromEntries(own), parameters) as Named;
  const reached = new Map<string, JSONObject>();
  const visit = (value: unknown): void => {
    for (const name of referencesIn(value)) {
      const found = definitions[name];
      if (found === undefined || reached.has(name)) continue;
      reached.set(name, found);
      visit(found);
    }
  };
  visit(kept);
  return { paths: kept, definitions: Object.fromEntries(reached) };
}

function* referencesIn(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Object.entries(value))
    if (key === "$ref" && typeof item === "string") yield item.replace(definitionsRoot, "");
    else yield* referencesIn(item);
}

function withParameters(value: unknown, parameters: Named): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withParameters(item, parameters));
  const { $ref } = value as { readonly $ref?: unknown };
  if (typeof $ref === "string" && $ref.startsWith(parametersRoot))
    return parameters[$ref.slice(parametersRoot.length)] ?? {};
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, item]) => [key, withParameters(item, parameters)]));
}

/**
 * Merges the part of a back end into a document. Paths that exist already win; a type whose name is taken by
 * a different type is renamed.
 *
 * Upstream: k8s.io/kube-openapi/pkg/aggregator, MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters
 */
export function withPart<Document extends Swagger>(document: Document, part: Swagger): Document {
  const present = document.definitions ?? {};
  const added = Object.entries(part.definitions ?? {}).map(([name, type]) => ({
    from: name,
    to: freeName(name, type, present),
    type,
  }));
  const references = new Map(added.map(({ from, to }) => [definitionsRoot + from, definitionsRoot + to]));
  const definitions: Record<string, unknown> = { ...present };
  for (const { to, type } of added) definitions[to] ??= withNames(type, references);
  const paths = { ...(withNames(part.paths ?? {}, references) as object), ...document.paths };
  return { ...document, paths, definitions };
}

/** Returns the name of an equal type in the document, or a free name. */
function freeName(name: string, type: JSONObject, present: Named): string {
  for (let count = 1; ; count++) {
    const candidate = count === 1 ? name : `${name}_v${count}`;
    const known = present[candidate];
    if (known === undefined || deepEqual(plain(known), plain(type))) return candidate;
  }
}

/**
 * Returns a type without the fields that do not matter for equality: servers describe the same types in
 * different words.
 */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key, item]) =>
      !(key === "description" && typeof item === "string") && key !== "x-kubernetes-group-version-kind",
  );
  return Object.fromEntries(entries.map(([key, item]) => [key, plain(item)]));
}

function withNames(value: unknown, references: ReadonlyMap<string, string>): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withNames(item, references));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === "$ref" && typeof item === "string"
        ? (references.get(item) ?? item)
        : withNames(item, references),
    ]),
  );
}
