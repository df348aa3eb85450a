import type { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { controllerOf } from "@dray/controllers/objects";
import type { Inventory } from "../inventory/inventory.ts";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { names } from "../text/words.ts";
import { claimData } from "./claims.ts";
import type { ClaimData, Explained, Fact, PlacementData, Wait, WaitFor } from "./data.ts";
import { disruptionOf, failureWaits, joined, waitsOnNode, waitsToEnd } from "./node-waits.ts";
import { placementOf } from "./placement.ts";
import { claimsOfPod, hasStorage, otherSchedulerOf, type Scene, schedulerOf, wait } from "./scene.ts";
import { located, Trial } from "./trial.ts";
import { volumeClaims } from "./volume-waits.ts";
import { groupConditionWaits, waitsBeforeScheduling } from "./waits.ts";

type PodState = "waiting" | "starting" | "running" | "ending" | "ended";

/** With these the requested devices are unknown. */
const unknown: ReadonlySet<WaitFor> = new Set(["claim-missing", "claim-unusable", "class-missing"]);

type Report = Omit<Explained, "version" | "rights">;

/** Explains why a pod waits, its devices, or why it still exists. */
export async function explainPod(pod: Pod, scene: Scene, inventory: Inventory): Promise<Report> {
  const { world } = scene;
  const state = stateOfPod(pod);
  const first = waitsOfPod(pod, scene);
  const placement = canBePlaced(pod, first) ? await placementOf(trialOf(pod, scene, first), inventory) : null;
  const waits = allWaits(pod, scene, first, placement);
  return {
    kind: "Pod",
    namespace: pod.metadata.namespace,
    name: pod.metadata.name,
    state,
    summary: summaryOf(pod, state, waits, placement),
    waits,
    placement,
    claims: claimsData(pod, world, inventory),
    devices: [],
    counts: null,
    headroom: {},
    facts: factsOf(pod, scene),
  };
}

/** Reports whether the pod waits for a node, and all that it requests is known. */
export const canBePlaced = (pod: Pod, waits: readonly Wait[]): boolean =>
  stateOfPod(pod) === "waiting" && !waits.some(({ for: what }) => unknown.has(what));

/** Volumes that keep the pod from every node are left out of the trial: it answers for the rest. */
export function trialOf(pod: Pod, scene: Scene, waits: readonly Wait[]): Trial {
  const { features, now } = scene;
  const volumes = hasStorage(scene) && !waits.some(({ for: what }) => what === "volume");
  const alone = isGroupUnknown(pod, scene) ? withoutGroup(pod) : pod;
  const world = alone === pod ? scene.world : scene.world.overlaid([located(alone)]);
  return new Trial(world, alone, { features, now: () => now, volumes });
}

/** A pod of a group that may not be read is tried alone. */
const isGroupUnknown = ({ metadata, spec }: Pod, { world, surroundings }: Scene): boolean =>
  spec.schedulingGroup !== undefined &&
  surroundings.missing.some(({ kind }) => kind === "PodGroup") &&
  world.find("PodGroup", `${metadata.namespace}/${spec.schedulingGroup.podGroupName}`) === undefined;

function withoutGroup(pod: Pod): Pod {
  const { schedulingGroup: _, ...spec } = pod.spec;
  return { ...pod, spec };
}

/** Returns all reasons in order: those before any node is looked at, then those of the nodes. */
export function allWaits(
  pod: Pod,
  scene: Scene,
  first: readonly Wait[],
  placement: Pick<PlacementData, "fits" | "message" | "refusals"> | null,
): Wait[] {
  const nodes = placementWaits(pod, first, placement);
  if (nodes.length > 0) return [...first, ...nodes];
  if (stateOfPod(pod) !== "waiting" || first.length > 0) return [...first];
  return conditionWaits(pod, scene);
}

export function stateOfPod(pod: Pod): PodState {
  if (isPodTerminal(pod)) return pod.metadata.deletionTimestamp === undefined ? "ended" : "ending";
  if (pod.metadata.deletionTimestamp !== undefined) return "ending";
  if (!pod.spec.nodeName) return "waiting";
  return pod.status?.phase === "Running" ? "running" : "starting";
}

/** Returns the reasons that hold whatever the nodes have. */
export function waitsOfPod(pod: Pod, scene: Scene): Wait[] {
  switch (stateOfPod(pod)) {
    case "waiting":
      return waitsBeforeScheduling(pod, scene);
    case "starting":
    case "running":
      return waitsOnNode(pod, scene);
    case "ending":
      return waitsToEnd(pod, scene);
    default:
      return failureWaits(pod);
  }
}

/** Returns the reasons of the nodes, in the scheduler's words. */
function placementWaits(
  pod: Pod,
  first: readonly Wait[],
  placement: Pick<PlacementData, "fits" | "message" | "refusals"> | null,
): Wait[] {
  if (placement === null || placement.fits !== null || placement.message === null) return [];
  const { message, refusals } = placement;
  // The reasons before any attempt are known by then, but for other pods of its group.
  if (refusals.length === 0 && first.length > 0) return [];
  const isGroup = pod.spec.schedulingGroup?.podGroupName !== undefined && refusals.length === 0;
  const isDevices = refusals.some(({ plugin }) => plugin === "DynamicResources");
  const since = unscheduledOf(pod)?.lastTransitionTime;
  return [
    wait(isGroup ? "pod-group" : isDevices ? "devices" : "nodes", message, {
      since: since === undefined ? null : String(since),
    }),
  ];
}

const unscheduledOf = ({ status }: Pod) =>
  status?.conditions?.find(({ type, status }) => type === "PodScheduled" && status === "False");

/**
 * Returns what the scheduler last said of a pod that would fit: it may know what is not read here (volumes,
 * extenders, its configuration), so that its words count.
 */
function conditionWaits(pod: Pod, scene: Scene): Wait[] {
  const group = groupConditionWaits(pod, scene);
  if (group.length > 0) return group;
  const { message = "", reason, lastTransitionTime: since } = unscheduledOf(pod) ?? {};
  if (message === "" || reason === "SchedulingGated") return [];
  return [wait("scheduler", message, { since: since === undefined ? null : String(since) })];
}

function summaryOf(
  pod: Pod,
  state: PodState,
  waits: readonly Wait[],
  placement: PlacementData | null,
): string {
  const name = nameOf(pod);
  const [first] = waits;
  const because = first === undefined ? "" : `: ${first.message}`;
  switch (state) {
    case "waiting":
      if (first !== undefined) return `pod ${name} waits${because}`;
      return `pod ${name} fits on node ${placement?.fits}: a scheduler binds it as soon as it tries${volumesText(pod)}`;
    case "starting":
      return `pod ${name} is on node ${pod.spec.nodeName} and does not run yet${because}`;
    case "running":
      return `pod ${name} runs on node ${pod.spec.nodeName}${first === undefined ? "" : `; ${first.message}`}`;
    case "ending":
      return `pod ${name} is being deleted${because}`;
    default:
      return `pod ${name} has ended (${pod.status?.phase ?? "Unknown"})${because}`;
  }
}

/** Manifests without volumes say nothing about them. */
function volumesText(pod: Pod): string {
  const claims = volumeClaims(pod).map(({ name }) => name);
  return claims.length === 0 ? "" : `, if its volume claims allow that (${names(claims)})`;
}

/**
 * Returns the devices of the pod's claims, and of the claim that a scheduler has created for its extended
 * resources (KEP-5004).
 */
function claimsData(pod: Pod, world: World, inventory: Inventory): ClaimData[] {
  return claimsOfPod(pod, world).flatMap(({ entry, claim }) =>
    claim === undefined ? [] : [claimData(claim, inventory, { pod, entry })],
  );
}

/** Reasons of events that the waits already explain. */
const explainedReasons: ReadonlySet<string | undefined> = new Set([
  "FailedScheduling",
  "FailedResourceClaimCreation",
  "FailedPrepareDynamicResources",
  "FailedUnprepareDynamicResources",
  "FailedMount",
  "FailedAttachVolume",
]);

function factsOf(pod: Pod, scene: Scene): Fact[] {
  const { surroundings } = scene;
  const owner = controllerOf(pod);
  const disruption = disruptionOf(pod.status);
  const [event] = surroundings.events.filter(
    ({ type, reason }) => type === "Warning" && !explainedReasons.has(reason),
  );
  return [
    ...(pod.spec.nodeName ? [{ name: "node", value: pod.spec.nodeName }] : []),
    ...schedulerFacts(pod, scene),
    ...(disruption === undefined || isPodTerminal(pod)
      ? []
      : [{ name: "ended by", value: joined(disruption.reason, disruption.message) }]),
    ...(owner === undefined ? [] : [{ name: "owner", value: `${owner.kind} ${owner.name}` }]),
    ...(event === undefined ? [] : [{ name: "last warning", value: `${event.reason}: ${event.message}` }]),
  ];
}

/** Names a scheduler that is not the default one. */
function schedulerFacts(pod: Pod, scene: Scene): Fact[] {
  const bound = schedulerOf(pod, scene);
  if (bound !== undefined)
    return bound === "default-scheduler" ? [] : [{ name: "bound by", value: `scheduler ${bound}` }];
  const other = otherSchedulerOf(pod);
  return other === undefined ? [] : [{ name: "scheduler", value: other }];
}
