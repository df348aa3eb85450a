import type { Explanation } from "@dray/allocator";
import type { Features, KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import {
  createOfflineScheduler,
  hasPodGroups,
  type OfflineObject,
  type OfflineScheduler,
  type Placement,
  type Shortage,
} from "@dray/scheduler";
import { uidOf } from "../manifests/decode.ts";
import { type Located, labelOfObject, nameOf, type Place } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { type PlanOptions, preparePods } from "../plan/plan.ts";
import { isBound, type PodUnit, scheduleUnit, waitingUnits } from "../plan/units.ts";
import type { OriginPod } from "../plan/workloads.ts";
import { type Landing, maxRivals } from "./data.ts";

const nowhere: Place = {
  source: { file: "explain", text: "", lineOf: () => undefined },
  root: "",
};

export const located = <T extends KubeObject>(object: T): Located<T> => ({ object, place: nowhere });

/** Objects without the pods that wait and have no group: these do not affect each other in a trial. */
const kindsOfTrial = [
  "Namespace",
  "DeviceClass",
  "DeviceTaintRule",
  "ResourceSlice",
  "Node",
  "PodGroup",
] as const;
const kindsOfStorage = [
  "PersistentVolumeClaim",
  "PersistentVolume",
  "StorageClass",
  "CSIDriver",
  "CSINode",
  "CSIStorageCapacity",
  "VolumeAttachment",
] as const;

export interface TrialOptions extends PlanOptions {
  /** Whether the world has the objects of storage: then pods need their volumes. */
  readonly volumes: boolean;
}

/** Result of one attempt to place the pod, alone or with its group. */
export interface Attempt {
  /** The placement of the pod. */
  readonly placement: Placement;
  /** The pod that no node takes: another one of its group may be in the way. */
  readonly blocked: Pod;
  /** Why no node takes that pod. */
  readonly refused: Placement;
  /** Explains the claims of the blocked pod on a node, while the pods before it hold their devices. */
  explain(node: string): Explanation | undefined;
  shortages(node: string): readonly Shortage[];
}

/** Changes of a cluster: objects that replace those of the same name, and the labels of removed ones. */
export interface Changed {
  readonly objects: readonly KubeObject[];
  readonly gone?: ReadonlySet<string>;
}

/**
 * A cluster in which one pod waits, alone or with its group. Includes its claims, even those that a
 * controller has not created yet. Every attempt uses a separate scheduler: changes of one do not affect the
 * next.
 */
export class Trial {
  readonly world: World;
  readonly pod: Pod;
  /** The waiting pods that are placed together, the pod included. */
  readonly members: readonly Pod[];
  /** Claims of the members without devices; those of the pod come first. */
  readonly open: readonly ResourceClaim[];
  readonly nodes: readonly string[];
  readonly features: Features;
  /** Waiting pods of higher priority, which the scheduler tries before. */
  readonly rivals: readonly PodUnit[];
  /** Waiting pods of the same priority, which it may try before. */
  readonly #equals: readonly PodUnit[];
  /** Compiled selectors, shared by all schedulers of the trial. */
  readonly environment = deviceEnvironment({ stored: true });
  readonly #options: TrialOptions;
  /** Input of a scheduler by label, in the required order. */
  readonly #objects: ReadonlyMap<string, KubeObject>;

  constructor(given: World, pod: Pod, options: TrialOptions) {
    const { pods, claims } = preparePods(given, options);
    this.world = given.overlaid([...pods, ...claims.map(located)]);
    this.#options = options;
    this.features = options.features;
    const objects = [
      ...this.world.all(...kindsOfTrial).map(({ object }) => object),
      ...(options.volumes ? this.world.all(...kindsOfStorage).map(({ object }) => object) : []),
      ...claims,
      ...pods.map(({ object }) => object),
    ];
    this.#objects = new Map(objects.map((object) => [labelOfObject(object), object]));
    this.nodes = this.world
      .all("Node")
      .map(({ object }) => object.metadata.name)
      .toSorted();
    this.pod = ungated((this.#objects.get(labelOfObject(pod)) ?? pod) as Pod);
    this.members = membersOf(
      this.pod,
      pods.map(({ object }) => object),
      options.features,
    );
    const { before, equal } = rivalsOf(this.members, pods, options.features);
    this.rivals = before;
    this.#equals = equal;
    const claimed = [this.pod, ...this.members].flatMap((each) =>
      createdPodClaims(each).map(({ name }) => `${each.metadata.namespace}/${name}`),
    );
    this.open = [...new Set(claimed)].flatMap((name) => {
      const found = this.world.find("ResourceClaim", name);
      return found === undefined || found.status?.allocation !== undefined ? [] : [found];
    });
  }

  /** The current state of a claim of the trial. */
  claim(namespace: string, name: string): ResourceClaim | undefined {
    return this.world.find("ResourceClaim", `${namespace}/${name}`);
  }

  /**
   * Places the pod in the changed cluster, with `taken` after all pods of its priority, of which it gets the
   * names of those that could be the first.
   */
  async try({ objects, gone = new Set() }: Changed = { objects: [] }, taken?: string[]): Promise<Attempt> {
    const scheduler = this.#scheduler(objects, gone);
    const replaced = new Map(objects.map((object) => [labelOfObject(object), object]));
    const current = (pod: Pod): Pod => (replaced.get(labelOfObject(pod)) ?? pod) as Pod;
    const own = ungated(current(this.pod));
    for (const unit of this.rivals) if (!isGone(unit, gone)) await scheduleUnit(scheduler, unit);
    if (taken !== undefined) await placeEquals(scheduler, this.#equals, gone, taken);
    const names = [
      ...this.nodes,
      ...objects.flatMap(({ kind, metadata }) => (kind === "Node" ? [metadata.name] : [])),
    ];
    if (this.members.length === 1 && groupOf(own, this.features) === undefined) {
      const placement = await scheduler.preview(own);
      return {
        placement,
        blocked: own,
        refused: placement,
        explain: (node) => scheduler.explain(own, node),
        shortages: (node) => scheduler.shortages(own, node),
      };
    }
    const members = this.members
      .filter((pod) => !gone.has(labelOfObject(pod)))
      .map((pod) => (pod === this.pod ? own : current(pod)));
    return tryGroup(scheduler, members, own, names);
  }

  /** Places the pod in the changed cluster; null: no node takes it. */
  async with(objects: readonly KubeObject[], gone?: ReadonlySet<string>): Promise<Landing | null> {
    const changed = { objects, ...(gone && { gone }) };
    const { placement } = await this.try(changed);
    if (placement.type !== "placed") return null;
    const { node } = placement;
    if (this.#equals.length === 0) return { node, rivals: [] };
    const taken: string[] = [];
    const second = await this.try(changed, taken);
    return { node, rivals: second.placement.type === "placed" ? [] : taken };
  }

  #scheduler(changed: readonly KubeObject[], gone: ReadonlySet<string>): OfflineScheduler {
    let shares = 0;
    const newId = (): string => uidOf("share", undefined, String(shares++));
    const scheduler = createOfflineScheduler({
      ...this.#options,
      newId,
      environment: this.environment,
    });
    const others = new Map(changed.map((object) => [labelOfObject(object), object]));
    for (const [label, object] of this.#objects) {
      if (!gone.has(label)) scheduler.add((others.get(label) ?? object) as OfflineObject);
      others.delete(label);
    }
    for (const object of others.values()) scheduler.add(object as OfflineObject);
    return scheduler;
  }
}

/**
 * Places the pods that may come before, and adds the names of those that could be the first. Groups are only
 * tried in turn.
 */
async function placeEquals(
  scheduler: OfflineScheduler,
  units: readonly PodUnit[],
  gone: ReadonlySet<string>,
  taken: string[],
): Promise<void> {
  const waiting = units.filter((unit) => !isGone(unit, gone));
  const isPlaced = ({ type }: Placement): boolean => type === "placed";
  const first = new Set<PodUnit>();
  for (const unit of waiting)
    if (!unit.isGroup && isPlaced(await scheduler.preview(unit.pods[0]!.object))) first.add(unit);
  for (const unit of waiting)
    if ((await scheduleUnit(scheduler, unit)).every(isPlaced) && unit.isGroup) first.add(unit);
  for (const { pods } of first) for (const { object } of pods) taken.push(nameOf(object));
}

const isGone = ({ pods }: PodUnit, gone: ReadonlySet<string>): boolean =>
  pods.some(({ object }) => gone.has(labelOfObject(object)));

/** Returns the pods that take what becomes free before this one does, and those that may (PrioritySort). */
function rivalsOf(
  members: readonly Pod[],
  pods: readonly OriginPod[],
  features: Features,
): { readonly before: PodUnit[]; readonly equal: PodUnit[] } {
  const own = new Set(members.map(({ metadata }) => metadata.uid));
  const priority = Math.max(...members.map(({ spec }) => spec.priority ?? 0));
  const waiting = (isRival: (priority: number) => boolean): PodUnit[] =>
    waitingUnits(
      pods.filter(
        ({ object: { metadata, spec } }) =>
          !own.has(metadata.uid) &&
          metadata.deletionTimestamp === undefined &&
          (spec.schedulingGates ?? []).length === 0 &&
          isRival(spec.priority ?? 0),
      ),
      features,
    ).slice(0, maxRivals);
  return { before: waiting((each) => each > priority), equal: waiting((each) => each === priority) };
}

/**
 * Places the pods of a group. The explanations are those at the time when the first pod was refused: the pods
 * before it hold their devices then.
 */
async function tryGroup(
  scheduler: OfflineScheduler,
  members: readonly Pod[],
  own: Pod,
  nodes: readonly string[],
): Promise<Attempt> {
  interface Blocked {
    readonly pod: Pod;
    readonly refused: Placement;
    readonly claims: ReadonlyMap<string, Explanation | undefined>;
    readonly shortages: ReadonlyMap<string, readonly Shortage[]>;
  }
  let blocked: Blocked | undefined;
  const placements = await scheduler.scheduleGroup(members, (pod, refused) => {
    if (blocked !== undefined && pod !== own) return;
    blocked = {
      pod,
      refused,
      claims: new Map(nodes.map((node) => [node, scheduler.explain(pod, node)])),
      shortages: new Map(nodes.map((node) => [node, scheduler.shortages(pod, node)])),
    };
  });
  // The pod is one of the members.
  const placement = placements[members.indexOf(own)]!;
  const found = blocked as Blocked | undefined;
  if (found === undefined) {
    const failed = placement.type === "error" ? await failingMember(scheduler, members) : undefined;
    const { pod, refused } = failed ?? { pod: own, refused: placement };
    return {
      ...{ placement, blocked: pod, refused },
      explain: (node) => scheduler.explain(pod, node),
      shortages: (node) => scheduler.shortages(pod, node),
    };
  }
  return {
    ...{ placement, blocked: found.pod, refused: found.refused },
    explain: (node) => found.claims.get(node),
    shortages: (node) => found.shortages.get(node) ?? [],
  };
}

/**
 * Places the members one by one, and returns the first that fails: a selector may fail on the devices left.
 */
async function failingMember(
  scheduler: OfflineScheduler,
  members: readonly Pod[],
): Promise<{ readonly pod: Pod; readonly refused: Placement } | undefined> {
  for (const pod of members) {
    const refused = await scheduler.schedule(pod);
    if (refused.type === "error") return { pod, refused };
  }
  return undefined;
}

const groupOf = ({ spec }: Pod, features: Features): string | undefined =>
  hasPodGroups(features) ? spec.schedulingGroup?.podGroupName : undefined;

/**
 * Returns the waiting pods of the same group in the order of the scheduler: by priority, then as given; the
 * pod itself comes after its equals, so that it fits whatever their order is.
 */
function membersOf(pod: Pod, pods: readonly Pod[], features: Features): Pod[] {
  const group = groupOf(pod, features);
  if (group === undefined) return [pod];
  return pods
    .map((each) => (each.metadata.uid === pod.metadata.uid ? pod : each))
    .filter(
      (each) =>
        each === pod ||
        (!isBound(each) &&
          each.metadata.namespace === pod.metadata.namespace &&
          groupOf(each, features) === group &&
          each.metadata.deletionTimestamp === undefined),
    )
    .toSorted(
      (a, b) => (b.spec.priority ?? 0) - (a.spec.priority ?? 0) || Number(a === pod) - Number(b === pod),
    );
}

/** Scheduling gates do not affect where the pod could be placed. */
function ungated(pod: Pod): Pod {
  const { schedulingGates: _, ...spec } = pod.spec;
  return { ...pod, spec };
}
