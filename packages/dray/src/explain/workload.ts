import { DaemonSet, type Deployment, ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import { Job } from "@dray/api/batch/v1";
import type { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import type { Inventory } from "../inventory/inventory.ts";
import { labelOfObject, nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { Managed } from "../plan/managed.ts";
import { podsOf } from "../plan/workloads.ts";
import { counted, names } from "../text/words.ts";
import type { Explained, Fact, Wait, WorkloadKind } from "./data.ts";
import { explainPod, stateOfPod } from "./pod.ts";
import { eventOf, type Scene, wait } from "./scene.ts";
import { sinceOf } from "./surroundings.ts";

type Report = Omit<Explained, "version" | "rights">;
export type Workload = DaemonSet | Deployment | Job | PodGroup | ReplicaSet | StatefulSet;

/** Explains a workload by its pods: the first one that does not run, and the pods that do not exist. */
export async function explainWorkload(
  workload: Workload,
  scene: Scene,
  inventory: Inventory,
): Promise<Report> {
  const { world, surroundings } = scene;
  const pods = podsOfWorkload(workload, world);
  // Manifests have no controllers: pods that they would create are explained as if they were there.
  const future = surroundings.isLive ? [] : futurePods(workload, world);
  const stuck = stuckPod([...pods, ...future]);
  const answer = stuck === undefined ? undefined : await explainPod(stuck, scene, inventory);
  const isFuture = stuck !== undefined && future.includes(stuck);
  const podWaits = (answer?.waits ?? []).filter(({ for: what }) => !isFuture || what !== "claim-not-created");
  const running = pods.filter((pod) => stateOfPod(pod) === "running").length;
  const wanted = wantedPods(workload, pods.length + future.length);
  const missing = wanted - pods.filter((pod) => !isPodTerminal(pod)).length;
  const waits = [
    ...ownWaits(workload, surroundings.isLive ? missing : 0, scene),
    ...podWaits.map((each) => ({
      ...each,
      message: `pod ${nameOf(stuck!)}: ${each.message}`, // an answer is about a stuck pod
      object: each.object ?? `Pod ${nameOf(stuck!)}`, // as above
    })),
  ];
  const isOver = endOf(workload) !== undefined;
  const state = isOver ? "ended" : waits.length === 0 && running >= wanted ? "running" : "waiting";
  const title = `${workload.kind} ${nameOf(workload)}`;
  const because = waits[0] === undefined ? "" : `: ${waits[0].message}`;
  return {
    kind: workload.kind as WorkloadKind,
    namespace: workload.metadata.namespace,
    name: workload.metadata.name,
    state,
    summary: isOver
      ? `${title} has ended (${endOf(workload)})`
      : `${title}: ${running} of ${counted(wanted, "pod")} ${running === 1 ? "runs" : "run"}${because}`,
    waits,
    placement: answer?.placement ?? null,
    claims: answer?.claims ?? [],
    devices: [],
    counts: null,
    headroom: {},
    facts: factsOf(pods),
  };
}

/** Returns the existing pods of a workload. */
export function podsOfWorkload(workload: Workload, world: World): readonly Pod[] {
  const managed = new Managed(world);
  switch (workload.kind) {
    case "Deployment":
      return managed.ofDeployment(workload as Deployment);
    case "ReplicaSet":
      return managed.pods(ReplicaSet, workload as ReplicaSet);
    case "StatefulSet":
      return managed.pods(StatefulSet, workload as StatefulSet);
    case "DaemonSet":
      return managed.pods(DaemonSet, workload as DaemonSet);
    case "Job":
      return managed.pods(Job, workload as Job);
    default:
      return world
        .all("Pod")
        .map(({ object }) => object)
        .filter(
          ({ metadata, spec }) =>
            metadata.namespace === workload.metadata.namespace &&
            spec.schedulingGroup?.podGroupName === workload.metadata.name,
        );
  }
}

/** Returns the pod that is explained for a workload: one that does not run, waiting ones first. */
export function stuckPod(pods: readonly Pod[]): Pod | undefined {
  const order = ["waiting", "starting", "ending"];
  const states = order.map((state) => pods.find((pod) => stateOfPod(pod) === state));
  const failed = pods.find((pod) => pod.status?.phase === "Failed");
  return states.find((pod) => pod !== undefined) ?? failed;
}

function futurePods(workload: Workload, world: World): Pod[] {
  const nodes = world.all("Node").map(({ object }) => object);
  return podsOf(world, nodes)
    .filter(({ origin, path }) => path !== "spec" && origin === labelOfObject(workload))
    .map(({ object }) => object);
}

function wantedPods(workload: Workload, pods: number): number {
  switch (workload.kind) {
    case "Deployment":
    case "ReplicaSet":
    case "StatefulSet":
      return (workload as Deployment).spec.replicas ?? 1;
    case "DaemonSet":
      return Number((workload as DaemonSet).status?.desiredNumberScheduled ?? pods);
    case "Job":
      return Math.min(
        (workload as Job).spec.parallelism ?? 1,
        Math.max(
          0,
          ((workload as Job).spec.completions ?? Infinity) - Number((workload as Job).status?.succeeded ?? 0),
        ),
      );
    default:
      return pods;
  }
}

/** Returns how a Job has ended; undefined: it has not. */
function endOf(workload: Workload): string | undefined {
  if (workload.kind !== "Job") return undefined;
  const done = (workload as Job).status?.conditions?.find(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
  return done && [done.type, done.reason, done.message].filter((part) => part).join(": ");
}

/** Returns why pods of the workload do not exist. */
function ownWaits(workload: Workload, missing: number, { surroundings }: Scene): Wait[] {
  if (workload.kind === "Job" && (workload as Job).spec.suspend === true)
    return [wait("pods", "it is suspended (spec.suspend): it has no pods until that is false")];
  if (missing <= 0 || endOf(workload) !== undefined) return [];
  const text = `${counted(missing, "pod")} ${missing === 1 ? "does" : "do"} not exist`;
  const conditions = ("status" in workload ? workload.status?.conditions : undefined) ?? [];
  const failure = conditions.find(({ type, status }) => type === "ReplicaFailure" && status === "True");
  const event = eventOf(surroundings.events, "FailedCreate");
  const why = failure?.message ?? event?.message;
  if (why === undefined) return [wait("pods", `${text}: its controller has not created them`)];
  return [wait("pods", `${text}: ${why}`, { since: event === undefined ? null : sinceOf(event) })];
}

function factsOf(pods: readonly Pod[]): Fact[] {
  const byState = Map.groupBy(pods, stateOfPod);
  return [...byState].map(([state, list]) => ({
    name: `pods ${state}`,
    value: `${list.length} (${names(list.map(nameOf))})`,
  }));
}
