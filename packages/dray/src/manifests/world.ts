import type { KubeObject } from "@dray/api";
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import type { Job } from "@dray/api/batch/v1";
import type { Namespace, Node, Pod } from "@dray/api/core/v1";
import type {
  DeviceClass,
  DeviceTaintRule,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from "@dray/api/resource/v1";
import type { PriorityClass } from "@dray/api/scheduling/v1";
import { type Decoded, type DecodeOptions, decodeObject, isPlanned, problemsOf } from "./decode.ts";
import { type Draft, readDrafts } from "./documents.ts";
import type { Source } from "./files.ts";
import { jsonText } from "./json-text.ts";
import { InputError, type Located, nameOf, type Place, placeText } from "./place.ts";
import { checkPools } from "./pools.ts";

interface Kinds {
  DaemonSet: DaemonSet;
  Deployment: Deployment;
  DeviceClass: DeviceClass;
  DeviceTaintRule: DeviceTaintRule;
  Job: Job;
  Namespace: Namespace;
  Node: Node;
  Pod: Pod;
  PriorityClass: PriorityClass;
  ReplicaSet: ReplicaSet;
  ResourceClaim: ResourceClaim;
  ResourceClaimTemplate: ResourceClaimTemplate;
  ResourceSlice: ResourceSlice;
  StatefulSet: StatefulSet;
}

/** Everything that was read: each object as a server would have it stored, with its place. */
export class World {
  readonly #objects: readonly Located[];
  readonly #byName = new Map<string, KubeObject>();
  /** By kinds; what has been asked for once. */
  readonly #lists = new Map<string, readonly Located[]>();
  #slices: ReadonlyMap<string | undefined, readonly Located<ResourceSlice>[]> | undefined;

  constructor(objects: readonly Located[]) {
    this.#objects = objects;
    for (const { object } of objects) this.#byName.set(`${object.kind} ${nameOf(object)}`, object);
  }

  /** The objects of these kinds, in the order in which they were given. */
  all<K extends keyof Kinds>(...kinds: readonly K[]): readonly Located<Kinds[K]>[] {
    const wanted: readonly string[] = kinds;
    const key = kinds.join();
    const known = this.#lists.get(key);
    const found: unknown = known ?? this.#objects.filter(({ object }) => wanted.includes(object.kind));
    this.#lists.set(key, found as readonly Located[]);
    return found as readonly Located<Kinds[K]>[];
  }

  /** The slices that only this node can see. */
  slicesOf(node: string): readonly Located<ResourceSlice>[] {
    this.#slices ??= Map.groupBy(this.all("ResourceSlice"), ({ object }) => object.spec.nodeName);
    return this.#slices.get(node) ?? [];
  }

  /** `name` is `namespace/name` of what lives in a namespace. */
  find<K extends keyof Kinds>(kind: K, name: string): Kinds[K] | undefined {
    const found: unknown = this.#byName.get(`${kind} ${name}`);
    return found as Kinds[K] | undefined;
  }

  /** The same with other objects beside. */
  with(more: readonly Located[]): World {
    return new World([...this.#objects, ...more]);
  }
}

export interface Reading {
  readonly world: World;
  /** What was left aside, for people. */
  readonly notes: readonly string[];
}

/** The label of a namespace that may ask for admin access (KEP-5018). */
const adminLabel = { "resource.kubernetes.io/admin-access": "true" };

/** As `readObjects`, of a cluster whose pools can be used. */
export function readWorld(sources: readonly Source[], options: DecodeOptions): Reading {
  const reading = readObjects(sources, options);
  const problems = checkPools(reading.world, options.features);
  if (problems.length > 0) throw new InputError(problems);
  return reading;
}

/** Reads all sources or, if anything is wrong with any object, nothing: throws InputError with every problem. */
export function readObjects(sources: readonly Source[], options: DecodeOptions): Reading {
  const problems: string[] = [];
  const collect = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      problems.push(error.message);
      return undefined;
    }
  };
  const drafts = sources.flatMap((source) => collect(() => readDrafts(source)) ?? []);
  if (drafts.length === 0 && problems.length === 0) {
    const files = sources.map(({ file }) => file).join(", ");
    throw new InputError([`there are no objects in ${files}`]);
  }
  const objects = drafts
    .filter(isPlanned)
    .flatMap((draft) => collect(() => decodeObject(draft, options)) ?? []);
  const kept = withoutRepetitions(objects, problems);
  const world = new World(kept);
  for (const decoded of kept) {
    const { namespace } = decoded.object.metadata;
    const found = namespace === undefined ? undefined : world.find("Namespace", namespace);
    // A server accepted what it has stored: it knew the namespace.
    const labels = found?.metadata.labels ?? (found === undefined && decoded.stored ? adminLabel : undefined);
    problems.push(...problemsOf(decoded, labels, options));
  }
  if (problems.length > 0) throw new InputError(problems);
  return { world, notes: [...leftAside(drafts), ...kept.flatMap(({ notes }) => notes)] };
}

/** An object may be given twice if it is the same both times. */
function withoutRepetitions(objects: readonly Decoded[], problems: string[]): Decoded[] {
  const seen = new Map<string, Decoded>();
  return objects.filter((decoded) => {
    const { object, place } = decoded;
    const key = `${object.kind} ${nameOf(object)}`;
    const first = seen.get(key);
    if (first === undefined) {
      seen.set(key, decoded);
      return true;
    }
    if (jsonText(first.object) !== jsonText(object))
      problems.push(`${placeText(place)}: ${key} was given before, and differs: ${placeText(first.place)}`);
    return false;
  });
}

function leftAside(drafts: readonly Draft[]): string[] {
  const counts = new Map<string, { count: number; place: Place }>();
  for (const draft of drafts.filter((each) => !isPlanned(each))) {
    const key = `${draft.kind} (${draft.apiVersion})`;
    const known = counts.get(key);
    counts.set(key, { count: (known?.count ?? 0) + 1, place: known?.place ?? draft.place });
  }
  return [...counts].map(([kind, { count, place }]) => {
    const where = count === 1 ? placeText(place) : `${count} objects, the first in ${placeText(place)}`;
    return `${kind} is left aside: ${where}`;
  });
}
