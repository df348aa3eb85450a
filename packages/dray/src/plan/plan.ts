import { type Features, Quantity } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims, podRequests } from "@dray/api/pod";
import type { AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { timeText } from "@dray/client";
import {
  createOfflineScheduler,
  type OfflineScheduler,
  type Placement,
  type SchedulerConfiguration,
} from "@dray/scheduler";
import { uidOf } from "../manifests/decode.ts";
import { jsonText } from "../manifests/json-text.ts";
import { missingText } from "../manifests/missing.ts";
import type { Place } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { admitPods, admittedGroups } from "./admit.ts";
import { claimsOfPods, type PodClaims } from "./claims.ts";
import { explainError, explainRefusal, type PodExplanation, renameClaims } from "./explain.ts";
import { scheduleUnit, waitingUnits } from "./units.ts";
import { type OriginPod, podsOf } from "./workloads.ts";

export interface PlanOptions {
  readonly features: Features;
  /** The profiles of the scheduler; the default one if absent. */
  readonly configuration?: SchedulerConfiguration | undefined;
  /** Order of waiting pods with the same priority; the given one if absent. */
  readonly order?: ((a: Pod, b: Pod) => number) | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called before each pod with the number of placed pods, and the total. */
  readonly onProgress?: (placed: number, pods: number) => void;
}

/**
 * `running`: it runs on its node with its devices; `bound`: it is on its node and does not run (yet);
 * `pending`: it waits for a missing object or a scheduling gate; `refused`: the API server would reject it.
 */
export type PodStatus = "running" | "bound" | "fits" | "does not fit" | "pending" | "refused";

/** Result for one pod. */
export interface PlannedPod {
  readonly pod: Pod;
  readonly place: Place;
  /** The object with its spec, and the path in it: see OriginPod. */
  readonly origin: string;
  readonly path: string;
  readonly status: PodStatus;
  readonly node: string | null;
  readonly claims: readonly PlannedClaim[];
  /** Resources of the node that the devices of its claims add to its requests (KEP-5517). */
  readonly claimResources: Readonly<Record<string, string>>;
  /** Why it has no node, in the words of the scheduler or the API server. */
  readonly reason: string | null;
  /** Missing objects, with similar names. */
  readonly hints: readonly string[];
  readonly explanation: PodExplanation | null;
}

export interface PlannedClaim {
  readonly name: string;
  /** The pod's own name for it; null for the claim of its extended resources (KEP-5004). */
  readonly podClaim: string | null;
  /** Exactly `status.allocation`; null without devices. */
  readonly allocation: AllocationResult | null;
  /** The class of each request, `request/subrequest` for alternatives. */
  readonly classes: ReadonlyMap<string, string>;
}

/** A cluster with all placed pods on their nodes, and the others waiting. */
export interface Cluster extends PodClaims {
  readonly scheduler: OfflineScheduler;
  /** By name. */
  readonly nodes: readonly string[];
}

/** Returns the pods of a world with their claims. */
export function preparePods(world: World, { now, features }: PlanOptions): PodClaims {
  const nodes = world.all("Node").map(({ object }) => object);
  const pods = admitPods(world, podsOf(world, nodes), timeText(now()), features.version);
  return claimsOfPods(world, pods, features);
}

/** Creates the cluster of a world. */
export function clusterOf(world: World, options: PlanOptions): Cluster {
  const { pods, claims } = preparePods(world, options);
  let shares = 0;
  // Deterministic: equal inputs have equal results, including share ids.
  const newId = (): string => uidOf("share", undefined, String(shares++));
  const scheduler = createOfflineScheduler({ ...options, newId });
  const objects = world.all("Namespace", "DeviceClass", "DeviceTaintRule", "ResourceSlice", "Node");
  for (const { object } of objects) scheduler.add(object);
  for (const group of admittedGroups(world)) scheduler.add(group);
  for (const claim of claims) scheduler.add(claim);
  for (const { object } of pods) scheduler.add(object);
  const nodes = world.all("Node").map(({ object }) => object.metadata.name);
  return { scheduler, nodes: nodes.toSorted(), pods, claims };
}

export interface Plan {
  /** In the given order. */
  readonly pods: readonly PlannedPod[];
  readonly cluster: Cluster;
}

/** Plans where every pod is placed. */
export async function makePlan(world: World, options: PlanOptions): Promise<Plan> {
  const cluster = clusterOf(world, options);
  const { scheduler, pods } = cluster;
  const explanations = new Explanations(cluster);
  const outcomes = new Map<OriginPod, Outcome>();
  const units = waitingUnits(pods, options.features, options.order);
  let placed = 0;
  for (const unit of units) {
    options.onProgress?.(placed, pods.length);
    placed += unit.pods.length;
    const explained = new Map<Pod, PodExplanation | null>();
    const placements = await scheduleUnit(scheduler, unit, (each, placement) => {
      explained.set(each.object, explanations.of(each, placement));
    });
    if (placements.some(({ type }) => type === "placed")) explanations.forget();
    for (const [i, each] of unit.pods.entries()) {
      const placement = placements[i]!;
      const none = { node: null, reason: null, hints: [], explanation: null };
      if (placement.type === "placed") {
        outcomes.set(each, { ...none, status: "fits", node: placement.node });
        continue;
      }
      const { type, message: reason } = placement;
      outcomes.set(each, {
        status: type === "gated" ? "pending" : "does not fit",
        node: null,
        reason,
        hints: missingClasses(world, scheduler, each.object, reason),
        explanation: explained.get(each.object) ?? explanations.of(each, placement),
      });
    }
  }
  const planned = pods.map((each): PlannedPod => {
    const { object: pod, place, origin, path, hints: own = [] } = each;
    const claims = plannedClaims(pod, scheduler);
    const outcome = outcomes.get(each) ?? settled(each, claims);
    const there = outcome.node === null ? undefined : scheduler.podOn(outcome.node, pod);
    const claimResources = there === undefined ? {} : resourcesOfClaims(there);
    const hints = [...own, ...outcome.hints];
    return { pod, place, origin, path, ...outcome, hints, claims, claimResources };
  });
  return { pods: planned, cluster };
}

type Outcome = Pick<PlannedPod, "status" | "node" | "reason" | "hints" | "explanation">;

/** Returns the result of a pod that needs no scheduling. */
function settled({ object: { spec, status }, refusal }: OriginPod, claims: readonly PlannedClaim[]): Outcome {
  const base = { reason: null, hints: [], explanation: null };
  if (refusal !== undefined) return { ...base, status: "refused", node: null, reason: refusal };
  // Without its devices it will not start.
  const starts = claims.every(({ allocation }) => allocation !== null) && status?.phase !== "Pending";
  return { ...base, status: starts ? "running" : "bound", node: spec.nodeName ?? "" };
}

/** Returns the existing classes if the reason is a missing one. */
function missingClasses(world: World, scheduler: OfflineScheduler, pod: Pod, reason: string): string[] {
  const name = /device class (\S+) does not exist/.exec(reason)?.[1];
  if (name === undefined) return [];
  const claim = createdPodClaims(pod).find((each) => {
    const classes = classesOf(scheduler.claim(pod.metadata.namespace, each.name));
    return [...classes.values()].includes(name);
  });
  const of = claim === undefined ? "" : `claim ${claim.name}: `;
  return [`${of}${missingText(world, "DeviceClass", undefined, name)}`];
}

/** A pod without a node. */
type Unplaced = Exclude<Placement, { type: "placed" }>;

/**
 * Why pods have no node. The reason also applies to the next equal pod, as long as no pod was placed since.
 */
class Explanations {
  readonly #cluster: Cluster;
  readonly #known = new Map<string, { readonly pod: Pod; readonly explanation: PodExplanation }>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  forget(): void {
    this.#known.clear();
  }

  of({ object: pod }: OriginPod, placement: Unplaced): PodExplanation | null {
    if (placement.type === "gated" || placement.type === "held") return null;
    const { scheduler, nodes } = this.#cluster;
    const { namespace, labels } = pod.metadata;
    const { resourceClaims: _, ...spec } = pod.spec;
    const claims = createdPodClaims(pod).map((each) => scheduler.claim(namespace, each.name));
    const key = jsonText([namespace, labels, spec, claims.map((claim) => [claim?.spec, claim?.status])]);
    const known = this.#known.get(key);
    if (known !== undefined) return renameClaims(known.explanation, claimRenames(known.pod, pod));
    const explain = (node: string): ReturnType<OfflineScheduler["explain"]> => scheduler.explain(pod, node);
    const explanation =
      placement.type === "refused"
        ? explainRefusal(placement, nodes, explain)
        : explainError(placement.message, nodes, explain);
    this.#known.set(key, { pod, explanation });
    return explanation;
  }
}

/** Maps the claims of a pod, `namespace/name`, to those of an equal pod. */
function claimRenames(from: Pod, to: Pod): ReadonlyMap<string, string> {
  const own = createdPodClaims(to);
  return new Map(
    createdPodClaims(from).map(({ name }, i) => [
      `${from.metadata.namespace}/${name}`,
      `${to.metadata.namespace}/${own[i]?.name ?? name}`,
    ]),
  );
}

function plannedClaims(pod: Pod, scheduler: OfflineScheduler): PlannedClaim[] {
  const planned = (
    name: string,
    podClaim: string | null,
    found: ResourceClaim | undefined,
  ): PlannedClaim => ({
    name,
    podClaim,
    allocation: found?.status?.allocation ?? null,
    classes: classesOf(found),
  });
  const created = createdPodClaims(pod);
  const claims = created.map(({ entry, name }) =>
    planned(name, entry?.name ?? null, scheduler.claim(pod.metadata.namespace, name)),
  );
  const isKnown = created.some(({ entry }) => entry === undefined);
  const extended = isKnown ? undefined : scheduler.extendedClaim(pod);
  return extended === undefined ? claims : [...claims, planned(extended.metadata.name, null, extended)];
}

function resourcesOfClaims(pod: Pod): Readonly<Record<string, string>> {
  if ((pod.status?.nodeAllocatableResourceClaimStatuses ?? []).length === 0) return {};
  const without = podRequests(pod);
  const added = [...podRequests(pod, { useClaims: true })].flatMap(([name, quantity]) => {
    const more = quantity.sub(without.get(name) ?? Quantity.of(0));
    return more.sign > 0 ? [[name, more.toString()] as const] : [];
  });
  return Object.fromEntries(added);
}

function classesOf(claim: ResourceClaim | undefined): ReadonlyMap<string, string> {
  return new Map(
    (claim?.spec.devices?.requests ?? []).flatMap(({ name, exactly, firstAvailable = [] }) =>
      exactly === undefined
        ? firstAvailable.map((sub) => [`${name}/${sub.name}`, sub.deviceClassName] as const)
        : [[name, exactly.deviceClassName] as const],
    ),
  );
}
