import type { KubeObject } from "@dray/api";
import { typeRows } from "@dray/api/schema";
import type { Located } from "../manifests/place.ts";
import { names } from "../text/words.ts";
import { type Finding, finding, kubectl, type Snapshot } from "./finding.ts";

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

type Plain = Readonly<Record<string, unknown>>;

const isPlain = (value: unknown): value is Plain =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Fields in the specs of DRA objects that were applied and are not stored. */
export function checkFields({ world }: Snapshot): Finding[] {
  const objects: readonly Located[] = [
    ...world.all("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"),
  ];
  return objects.flatMap(({ object }) => {
    const applied = appliedObject(object);
    const fromApply = applied === undefined ? [] : missingPaths(applied["spec"], specOf(object), "spec");
    // An empty value has an owner, too, and is not stored: only fields that can be dropped tell.
    const owned = ownedPaths(object).filter(
      (path) => !fromApply.includes(path) && gateOf(path) !== undefined,
    );
    if (fromApply.length + owned.length === 0) return [];
    const needs = (path: string): string => {
      const gate = gateOf(path);
      return gate === undefined ? "" : `; it needs feature gate ${gate.replaceAll(",", " and ")}`;
    };
    const evidence = [
      ...fromApply.map(
        (path) => `${path} is in the annotation ${lastApplied}, and not in the object${needs(path)}`,
      ),
      ...owned.map(
        (path) => `${path} has an owner in metadata.managedFields, and is not in the object${needs(path)}`,
      ),
    ];
    const all = [...fromApply, ...owned];
    const fix = [
      kubectl("get", object, "-o", "yaml"),
      "kubectl get --raw /metrics | grep kubernetes_feature_enabled",
    ];
    return [finding("dropped-field", object, `lacks ${names(all)}, which was applied`, { evidence, fix })];
  });
}

const specOf = (object: KubeObject): unknown => (object as { spec?: unknown }).spec;

/**
 * The last applied configuration of kubectl; undefined if it does not exist, or in another version than the
 * object's.
 */
function appliedObject(object: KubeObject): Plain | undefined {
  const text = object.metadata.annotations?.[lastApplied];
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isPlain(value) && value["apiVersion"] === object.apiVersion ? value : undefined;
  } catch {
    // Anybody may write the annotation.
    return undefined;
  }
}

/** Values that stored objects leave out. */
const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === "" ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) ? value.length === 0 : isPlain(value) && Object.keys(value).length === 0);

/** Paths of what is in one value and not in the other. */
function missingPaths(given: unknown, stored: unknown, path: string): string[] {
  if (isEmpty(given)) return [];
  if (stored === undefined || stored === null) return [path];
  if (Array.isArray(given)) {
    // Somebody has changed a list that differs in length.
    if (!Array.isArray(stored) || stored.length !== given.length) return [];
    return given.flatMap((item, i) => missingPaths(item, stored[i], `${path}[${i}]`));
  }
  if (!isPlain(given) || !isPlain(stored)) return [];
  return Object.entries(given).flatMap(([key, value]) => missingPaths(value, stored[key], `${path}.${key}`));
}

/** Names of the gated fields of resource.k8s.io, with their gates. */
const gatedFields: ReadonlyMap<string, string> = new Map(
  [...typeRows].flatMap(([type, rows]) =>
    type.startsWith("resource/v1.")
      ? rows.flatMap(([name, , , marks]) =>
          marks?.featureGate === undefined ? [] : [[name, marks.featureGate] as const],
        )
      : [],
  ),
);

const gateOf = (path: string): string | undefined =>
  gatedFields.get(/[^.[\]]+(?=(?:\[\d+\])*$)/.exec(path)?.[0] ?? "");

/**
 * Fields of the spec that managers own by the API server's account (KEP-555), and that the object does not
 * have.
 */
function ownedPaths(object: KubeObject): string[] {
  const paths = (object.metadata.managedFields ?? []).flatMap(({ apiVersion, subresource, fieldsV1 }) => {
    if (apiVersion !== object.apiVersion || subresource) return [];
    const spec = fieldsV1?.["f:spec"];
    return isPlain(spec) ? unowned(spec, specOf(object), "spec") : [];
  });
  return [...new Set(paths)];
}

/** `fields`: a set of fields as managedFields write it: `f:` a field, `k:` an item of a list by its keys. */
function unowned(fields: Plain, value: unknown, path: string): string[] {
  if (value === undefined || value === null) return [path];
  return Object.entries(fields).flatMap(([key, below]) => {
    const inner = isPlain(below) ? below : {};
    if (key.startsWith("f:") && isPlain(value)) {
      const name = key.slice(2);
      return unowned(inner, value[name], `${path}.${name}`);
    }
    if (key.startsWith("k:") && Array.isArray(value)) {
      const keys = JSON.parse(key.slice(2)) as Plain;
      const index = value.findIndex(
        (item) => isPlain(item) && Object.entries(keys).every(([name, wanted]) => item[name] === wanted),
      );
      return index === -1 ? [] : unowned(inner, value[index], `${path}[${index}]`);
    }
    return [];
  });
}
