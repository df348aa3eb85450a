import { cameEmpty, forgetEmpty } from "../codec/empty.ts";
import { type Features, isFeatureGate, type KubernetesVersion } from "../features/features.ts";
import type { KubeObject } from "../objects/object.ts";
import { type FieldRow, typeRows } from "../schema/table.ts";
import { kindOf } from "../schema/types.ts";

/**
 * Gates of fields that Dray only stores, with the release that turns them on; `never`: none so far.
 *
 * Upstream: pkg/features/kube_features.go
 */
const onSince: ReadonlyMap<string, KubernetesVersion | "never"> = new Map([
  ["CSIVolumeHealth", "never"],
  ["ContainerStopSignals", "never"],
  ["CoordinatedLeaderElection", "never"],
  ["ImageVolumeWithDigest", "never"],
  ["MaxUnavailableStatefulSet", "1.37"],
  ["VolumeLimitScaling", "1.37"],
]);

/** The gates of a field that matter here, of a list like `A,B`: the field needs them all. */
function gatesOf([, , , marks]: FieldRow): string[] {
  return (marks?.featureGate ?? "").split(",").filter((gate) => isFeatureGate(gate) || onSince.has(gate));
}

type Tree = Record<string, unknown>;
/** Called with the gated field `name` of the struct `above[at]`. */
type Visit = (above: Tree, at: string, name: string, gates: readonly string[]) => void;
/**
 * Visits every gated field that is set in `above[at]`, a value of one type; those of a struct before what is
 * in them.
 */
type Walk = (above: Tree, at: string, visit: Visit) => void;

const walks = new Map<string, Walk | undefined>();

/** Undefined for a type that has no gated field, nor anything below it. */
function walkOf(type: string): Walk | undefined {
  if (walks.has(type)) return walks.get(type);
  // A type that holds itself has no gates: none of the schema's has.
  walks.set(type, undefined);
  const made = makeWalk(type);
  walks.set(type, made);
  return made;
}

function makeWalk(type: string): Walk | undefined {
  if (type.startsWith("[]") || type.startsWith("map<")) {
    const item = walkOf(type.startsWith("[]") ? type.slice(2) : type.slice(4, -1));
    return (
      item &&
      ((above, at, visit) => {
        const value = above[at];
        if (typeof value !== "object" || value === null) return;
        for (const key of Object.keys(value)) item(value as Tree, key, visit);
      })
    );
  }
  const fields = (typeRows.get(type) ?? [])
    .map((row) => ({
      name: row[0],
      inline: row[3]?.inline === true,
      gates: gatesOf(row),
      below: walkOf(row[2]),
    }))
    .filter(({ gates, below }) => gates.length > 0 || below !== undefined);
  if (fields.length === 0) return undefined;
  return (above, at, visit) => {
    const owner = above[at] as Tree | null | undefined;
    if (typeof owner !== "object" || owner === null) return;
    for (const { name, inline, gates, below } of fields) {
      if (inline) {
        below?.(above, at, visit);
        continue;
      }
      if ((owner[name] === undefined || owner[name] === null) && !cameEmpty(owner, name)) continue;
      if (gates.length > 0) visit(above, at, name, gates);
      below?.(owner, name, visit);
    }
  };
}

/** A field that a server would drop, since its feature gate is off. */
export interface DisabledField {
  /** The struct that has the field. */
  readonly owner: object;
  readonly name: string;
  /** The gates that it needs and that are off. */
  readonly gates: readonly string[];
}

type Kind = { readonly group: string; readonly version: string; readonly kind: string };

function walkOfKind(kind: Kind): Walk | undefined {
  const type = kindOf(kind.group, kind.version, kind.kind)?.type;
  return type === undefined ? undefined : walkOf(type);
}

function isOff(gate: string, features: Features): boolean {
  if (isFeatureGate(gate)) return !features.enabled(gate);
  // "never" is greater than every release.
  return features.version < (onSince.get(gate) ?? "never");
}

/** The fields that `dropDisabledFields` would drop from a new object. */
export function disabledFields(kind: Kind, object: KubeObject, features: Features): DisabledField[] {
  const found: DisabledField[] = [];
  walkOfKind(kind)?.({ object }, "object", (above, at, name, gates) => {
    const off = gates.filter((gate) => isOff(gate, features));
    if (off.length > 0) found.push({ owner: above[at] as object, name, gates: off });
  });
  return found;
}

/**
 * Drops, in place, the fields whose feature gate is off, as the server does before it validates; a feature
 * that the stored object uses already stays usable in it. `kind` is the version that the object is written
 * in.
 */
export function dropDisabledFields(
  kind: Kind,
  object: KubeObject,
  old: KubeObject | undefined,
  features: Features,
): void {
  const walk = walkOfKind(kind);
  if (walk === undefined) return;
  const used = new Set<string>();
  walk({ old }, "old", (_above, _at, _name, gates) => {
    for (const gate of gates) used.add(gate);
  });
  walk({ object }, "object", (above, at, name, gates) => {
    if (!gates.some((gate) => isOff(gate, features) && !used.has(gate))) return;
    const owner = above[at] as Tree;
    delete owner[name];
    forgetEmpty(owner, name);
    if (at === "lifecycle" && Object.keys(owner).length === 0) delete above[at];
  });
}
