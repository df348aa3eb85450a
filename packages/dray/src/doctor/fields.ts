import type { KubeObject } from "@dray/api";
import { typeRows } from "@dray/api/schema";
import { appliedObject, lastApplied } from "../manifests/last-applied.ts";
import type { Located } from "../manifests/place.ts";
import { names } from "../text/words.ts";
import { type Finding, finding, kubectl, type Snapshot } from "./finding.ts";

type Plain = Readonly<Record<string, unknown>>;

const isPlain = (value: unknown): value is Plain =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Finds fields in the specs of DRA objects that were applied and are not stored. */
export function checkFields({ world }: Snapshot): Finding[] {
  const objects: readonly Located[] = [
    ...world.all("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"),
  ];
  return objects.flatMap(({ object }) => {
    const applied = appliedObject(object);
    const fromApply = applied === undefined ? [] : missingPaths(specOf(applied), specOf(object), "spec");
    // An empty value also has an owner and is not stored: only fields that can be dropped count.
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

/** Reports whether stored objects leave the value out. */
const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === "" ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) ? value.length === 0 : isPlain(value) && Object.keys(value).length === 0);

/** Returns the paths that only the first value has. */
function missingPaths(given: unknown, stored: unknown, path: string): string[] {
  if (isEmpty(given)) return [];
  if (stored === undefined || stored === null) return [path];
  if (Array.isArray(given)) {
    // A list with another length was changed meanwhile.
    if (!Array.isArray(stored) || stored.length !== given.length) return [];
    return given.flatMap((item, i) => missingPaths(item, stored[i], `${path}[${i}]`));
  }
  if (!isPlain(given) || !isPlain(stored)) return [];
  return Object.entries(given).flatMap(([key, value]) => missingPaths(value, stored[key], `${path}.${key}`));
}

/** The gated fields of resource.k8s.io by name, with their gates. */
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
 * Returns the fields of the spec that managers own by the API server's account (KEP-555), but the object
 * lacks.
 */
function ownedPaths(object: KubeObject): string[] {
  const paths = (object.metadata.managedFields ?? []).flatMap(({ apiVersion, subresource, fieldsV1 }) => {
    if (apiVersion !== object.apiVersion || subresource) return [];
    const spec = fieldsV1?.["f:spec"];
    return isPlain(spec) ? unowned(spec, specOf(object), "spec") : [];
  });
  return [...new Set(paths)];
}

/**
 * `fields`: a set of fields in the form of managedFields: `f:` is a field, `k:` an item of a list by its
 * keys.
 */
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
