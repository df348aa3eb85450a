import type { Provenance } from "../codec/provenance.ts";
import { type FeatureGate, type Features, isFeatureGate } from "../features/features.ts";
import type { PodSpec, Volume } from "../generated/core/v1.ts";
import type { KubeObject } from "../objects/object.ts";
import { podSpecsOf } from "../pod/pod-specs.ts";
import { type Field, type FieldType, kindOf, type StructType, structType } from "../schema/types.ts";

type Tree = Record<string, unknown>;
/** Called with the field `name` of the struct `above[at]`, and with those of its gates that are off. */
type Visit = (above: Tree, at: string, name: string, off: readonly FeatureGate[]) => void;
/**
 * Visits every field that is set in the struct `above[at]` and has a gate that is off; those of a struct
 * before what is in them.
 */
type Walk = (above: Tree, at: string, visit: Visit, provenance: Provenance | undefined) => void;

/** Values that a field may have without its gate: the policy of sidecars is older than that of others. */
const ungatedValues: ReadonlyMap<string, unknown> = new Map([["core/v1.Container.restartPolicy", "Always"]]);

/** A data source in another namespace is dropped whole: without that namespace, it would name another one. */
const crossNamespace: FeatureGate = "CrossNamespaceVolumeDataSource";

/** The volume goes with its source, and the mounts of its name go with the volume. */
const imageVolume: FeatureGate = "ImageVolume";

/** Undefined for a type that has no such field, nor anything below it. */
const walks = new WeakMap<Features, Map<StructType, Walk | undefined>>();

/** The gates of a field that are off, of a list such as `A,B`: the field needs them all. */
function offGates({ marks }: Field, features: Features): FeatureGate[] {
  const gates = (marks.featureGate ?? "").split(",").filter(isFeatureGate);
  return gates.filter((gate) => !features.enabled(gate));
}

function walkOf(struct: StructType, features: Features): Walk | undefined {
  const known = walks.get(features) ?? new Map<StructType, Walk | undefined>();
  walks.set(features, known);
  if (known.has(struct)) return known.get(struct);
  if (!hasDisabled(struct, features)) {
    known.set(struct, undefined);
    return undefined;
  }
  const steps: Walk[] = [];
  const walk: Walk = (above, at, visit, provenance) => {
    if (isTree(above[at])) for (const step of steps) step(above, at, visit, provenance);
  };
  // Before the fields: a type may hold itself.
  known.set(struct, walk);
  for (const field of struct.fields.values()) {
    const { id, name, type } = field;
    const off = offGates(field, features);
    const inside = structIn(type);
    const below = inside && walkOf(inside, features);
    if (off.length === 0 && below === undefined) continue;
    const ungated = ungatedValues.get(id);
    steps.push((above, at, visit, provenance) => {
      const owner = above[at] as Tree;
      const value = owner[name];
      const isSet = (value !== undefined && value !== null) || provenance?.cameEmpty(owner, name) === true;
      if (!isSet || (ungated !== undefined && value === ungated)) return;
      if (off.length > 0) visit(above, at, name, off);
      if (below !== undefined)
        walkInside(owner, name, type, (tree, key) => below(tree, key, visit, provenance));
    });
  }
  return walk;
}

function hasDisabled(struct: StructType, features: Features, seen = new Set<StructType>()): boolean {
  if (seen.has(struct)) return false;
  seen.add(struct);
  return [...struct.fields.values()].some((field) => {
    const below = structIn(field.type);
    return (
      offGates(field, features).length > 0 || (below !== undefined && hasDisabled(below, features, seen))
    );
  });
}

/** The struct that a type, its elements or its values are of. */
function structIn(type: FieldType): StructType | undefined {
  if (type.form === "struct") return type.struct;
  if (type.form === "list") return structIn(type.element);
  return type.form === "map" ? structIn(type.value) : undefined;
}

/** Calls back with every struct in `above[at]`, a value of that type. */
function walkInside(
  above: Tree,
  at: string,
  type: FieldType,
  found: (above: Tree, at: string) => void,
): void {
  const value = above[at];
  if (!isTree(value)) return;
  if (type.form === "list") for (const key in value) walkInside(value, key, type.element, found);
  else if (type.form === "map") for (const key in value) walkInside(value, key, type.value, found);
  else found(above, at);
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null;
}

/** A field that a server would drop, since its feature gate is off. */
export interface DisabledField {
  /** The struct that has the field. */
  readonly owner: object;
  readonly name: string;
  /** The gates that it needs and that are off. */
  readonly gates: readonly FeatureGate[];
}

type Kind = { readonly group: string; readonly version: string; readonly kind: string };

function visitDisabled(
  kind: Kind,
  object: KubeObject | undefined,
  { features, provenance }: DropContext,
  visit: Visit,
): void {
  const type = kindOf(kind.group, kind.version, kind.kind)?.type;
  if (type === undefined) return;
  const visitOwn: Visit = (above, at, name, off) => {
    // Claims in the templates of others keep their source.
    if (off.includes(crossNamespace) && kind.kind !== "PersistentVolumeClaim") return;
    visit(above, at, name, off);
  };
  walkOf(structType(type), features)?.({ object }, "object", visitOwn, provenance);
}

/** The gates of the server, and the provenance of the object. */
export interface DropContext {
  readonly features: Features;
  readonly provenance?: Provenance | undefined;
}

/** The fields that `dropDisabledFields` would drop from a new object. */
export function disabledFields(kind: Kind, object: KubeObject, context: DropContext): DisabledField[] {
  const found: DisabledField[] = [];
  visitDisabled(kind, object, context, (above, at, name, gates) => {
    found.push({ owner: above[at] as object, name, gates });
  });
  return found;
}

/**
 * Drops, in place, the fields whose feature gate is off, as the server does before it validates; a feature
 * that the stored object uses already stays usable in it. `kind` is the version that the object is written
 * in.
 *
 * Upstream: the functions dropDisabled… of pkg/api and of the strategies in pkg/registry
 */
export function dropDisabledFields(
  kind: Kind,
  object: KubeObject,
  old: KubeObject | undefined,
  context: DropContext,
): void {
  const used = new Set<FeatureGate>();
  const images = new Set<object>();
  visitDisabled(kind, old, context, (_above, _at, _name, gates) => {
    for (const gate of gates) used.add(gate);
  });
  visitDisabled(kind, object, context, (above, at, name, gates) => {
    if (gates.every((gate) => used.has(gate))) return;
    const owner = above[at] as Tree;
    if (gates.includes(imageVolume)) {
      images.add(owner);
      return;
    }
    delete owner[name];
    context.provenance?.forgetEmpty(owner, name);
    if (isDroppedWhole(at, owner, gates)) delete above[at];
  });
  if (images.size > 0) for (const { spec } of podSpecsOf(object)) dropImageVolumes(spec, images);
}

/** Upstream: pkg/api/pod/util.go, dropImageVolumes */
function dropImageVolumes(spec: PodSpec, images: ReadonlySet<object>): void {
  const [dropped, kept] = [new Set<string>(), [] as Volume[]];
  for (const volume of spec.volumes ?? []) {
    if (images.has(volume)) dropped.add(volume.name);
    else kept.push(volume);
  }
  if (kept.length > 0) spec.volumes = kept;
  else delete spec.volumes;
  for (const list of [spec.containers, spec.initContainers, spec.ephemeralContainers]) {
    for (const container of list ?? []) {
      const mounts = (container.volumeMounts ?? []).filter(({ name }) => !dropped.has(name));
      if (mounts.length > 0) container.volumeMounts = mounts;
      else delete container.volumeMounts;
    }
  }
}

/**
 * Whether a struct goes with its field.
 *
 * Upstream: pkg/api/pod/util.go, dropContainerStopSignals; pkg/api/persistentvolumeclaim/util.go,
 * DropDisabledFields
 */
function isDroppedWhole(at: string, owner: Tree, gates: readonly FeatureGate[]): boolean {
  if (gates.includes(crossNamespace)) return true;
  return at === "lifecycle" && Object.keys(owner).length === 0;
}
