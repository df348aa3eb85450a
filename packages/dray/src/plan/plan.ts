import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { AllocationResult } from "@dray/api/resource/v1";
import { timeText } from "@dray/client";
import { createOfflineScheduler, type OfflineScheduler, type Placement } from "@dray/scheduler";
import { uidOf } from "../manifests/decode.ts";
import { jsonText } from "../manifests/json-text.ts";
import { InputError, type Place } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { admitPods } from "./admit.ts";
import { claimNames, claimsOfPods, type PodClaims } from "./claims.ts";
import { explainError, explainRefusal, type PodExplanation, renameClaims } from "./explain.ts";
import { type OriginPod, podsOf } from "./workloads.ts";

export interface PlanOptions {
  readonly features: Features;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What becomes of one pod. */
export interface PlannedPod {
  readonly pod: Pod;
  readonly place: Place;
  /** Whose spec it has, and where that stands: see OriginPod. */
  readonly origin: string;
  readonly path: string;
  /** It was on its node before. */
  readonly running: boolean;
  readonly node: string | null;
  readonly claims: readonly PlannedClaim[];
  /** Why it has no node, in the scheduler's words. */
  readonly reason: string | null;
  readonly explanation: PodExplanation | null;
}

export interface PlannedClaim {
  readonly name: string;
  /** The pod's own name for it. */
  readonly podClaim: string;
  /** Exactly `status.allocation`; null where it has no devices. */
  readonly allocation: AllocationResult | null;
}

/** A cluster in which the pods that have a node are where they are, and the others wait. */
export interface Cluster extends PodClaims {
  readonly scheduler: OfflineScheduler;
  /** By name. */
  readonly nodes: readonly string[];
}

/** The pods of a world with their claims. Throws InputError for what they name and nobody has given. */
export function preparePods(world: World, { now }: PlanOptions): PodClaims {
  const nodes = world.all("Node").map(({ object }) => object);
  const origins = podsOf(world, nodes);
  const problems = new Set(admitPods(world, origins, timeText(now())));
  const prepared = claimsOfPods(world, origins, problems);
  if (problems.size > 0) throw new InputError([...problems]);
  return prepared;
}

/** Makes the cluster of a world. Throws InputError. */
export function clusterOf(world: World, options: PlanOptions): Cluster {
  const { pods, claims } = preparePods(world, options);
  let shares = 0;
  // The same input gives the same answer, share ids included.
  const newId = (): string => uidOf("share", undefined, String(shares++));
  const scheduler = createOfflineScheduler({ ...options, newId });
  const objects = world.all("Namespace", "DeviceClass", "DeviceTaintRule", "ResourceSlice", "Node");
  for (const { object } of objects) scheduler.add(object);
  for (const claim of claims) scheduler.add(claim);
  for (const { object } of pods) scheduler.add(object);
  const nodes = world.all("Node").map(({ object }) => object.metadata.name);
  return { scheduler, nodes: nodes.toSorted(), pods, claims };
}

export const isBound = ({ spec }: Pod): boolean => (spec.nodeName ?? "") !== "";

/** The pods that wait, in the order in which a scheduler takes them: by priority, then as they were given. */
export function waiting(pods: readonly OriginPod[]): OriginPod[] {
  return pods
    .filter(({ object }) => !isBound(object))
    .toSorted((a, b) => (b.object.spec.priority ?? 0) - (a.object.spec.priority ?? 0));
}

export interface Plan {
  /** In the order in which they were given. */
  readonly pods: readonly PlannedPod[];
  readonly cluster: Cluster;
}

/** Where every pod lands. Throws InputError. */
export async function makePlan(world: World, options: PlanOptions): Promise<Plan> {
  const cluster = clusterOf(world, options);
  const { scheduler, pods } = cluster;
  const explanations = new Explanations(cluster);
  const outcomes = new Map<OriginPod, Pick<PlannedPod, "running" | "node" | "reason" | "explanation">>();
  for (const each of waiting(pods)) {
    const placement = await scheduler.schedule(each.object);
    if (placement.type === "placed") {
      explanations.forget();
      outcomes.set(each, { running: false, node: placement.node, reason: null, explanation: null });
    } else {
      const explanation = explanations.of(each, placement);
      outcomes.set(each, { running: false, node: null, reason: placement.message, explanation });
    }
  }
  const planned = pods.map((each): PlannedPod => {
    const { object: pod, place, origin, path } = each;
    const bound = { running: true, node: pod.spec.nodeName ?? "", reason: null, explanation: null };
    const outcome = outcomes.get(each) ?? bound;
    return { pod, place, origin, path, ...outcome, claims: plannedClaims(pod, scheduler) };
  });
  return { pods: planned, cluster };
}

/** A pod without a node. */
type Unplaced = Exclude<Placement, { type: "placed" }>;

/** Why pods have no node. What holds for one pod holds for the next that is alike, as long as nothing was placed. */
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
    if (placement.type === "gated") return null;
    const { scheduler, nodes } = this.#cluster;
    const { namespace, labels } = pod.metadata;
    const { resourceClaims: _, ...spec } = pod.spec;
    const claims = claimNames(pod).map(({ claim }) => scheduler.claim(namespace, claim));
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

/** The claims of a pod, `namespace/name`, by those of another pod that is alike. */
function claimRenames(from: Pod, to: Pod): ReadonlyMap<string, string> {
  const own = claimNames(to);
  return new Map(
    claimNames(from).map(({ claim }, i) => [
      `${from.metadata.namespace}/${claim}`,
      `${to.metadata.namespace}/${own[i]?.claim ?? claim}`,
    ]),
  );
}

function plannedClaims(pod: Pod, scheduler: OfflineScheduler): PlannedClaim[] {
  return claimNames(pod).map(({ entry, claim }) => ({
    name: claim,
    podClaim: entry,
    allocation: scheduler.claim(pod.metadata.namespace, claim)?.status?.allocation ?? null,
  }));
}
