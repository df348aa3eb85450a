import type { KubeObject } from "@dray/api";
import { validateUpdate } from "@dray/api/validation";
import { type Decoded, type DecodeOptions, invalidField } from "./decode.ts";
import { labelOfObject } from "./place.ts";
import type { Problem } from "./problem.ts";
import { type World, worldRow } from "./world.ts";

/** Kinds whose manifest cannot be compared with the stored object. */
const incomparable: ReadonlySet<string> = new Set(["Pod", "Job"]);
/** Kinds that a manifest replaces as a whole, to try a change: nodes and devices are not applied. */
const whole: ReadonlySet<string> = new Set(["Node", "ResourceSlice"]);

export const isComparable = ({ kind }: KubeObject): boolean => !incomparable.has(kind);
export const replacesWhole = ({ kind }: KubeObject): boolean => whole.has(kind);

/** Returns the manifest with the server's own fields. */
export function merged(manifest: KubeObject, live: KubeObject): KubeObject {
  const { uid, resourceVersion, creationTimestamp, ownerReferences, finalizers, generation } = live.metadata;
  const metadata = {
    ...manifest.metadata,
    uid,
    resourceVersion,
    creationTimestamp,
    ...(ownerReferences && { ownerReferences }),
    ...(finalizers && { finalizers }),
    ...(generation !== undefined && { generation }),
  };
  return { ...manifest, metadata, ...("status" in live && { status: live.status }) };
}

/** Returns the reasons why the API server rejects the change of an object. */
export function changeProblems(
  { object, provenance, place }: Decoded,
  live: KubeObject,
  { features, selectors }: DecodeOptions,
): Problem[] {
  const label = labelOfObject(object);
  const context = { features, provenance, compileSelector: selectors.compiler(false, place) };
  return validateUpdate(worldRow(object), merged(object, live), live, context).map((error) => ({
    ...invalidField(error, place, label, []),
    rule: "immutable",
  }));
}

/** Checks the change of the object of a cluster with that name, if it exists. */
export function updateProblems(decoded: Decoded, cluster: World, options: DecodeOptions): Problem[] {
  const { object } = decoded;
  if (!isComparable(object) || replacesWhole(object)) return [];
  const live = cluster.get(object);
  return live === undefined ? [] : changeProblems(decoded, live, options);
}
