import type { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { controllerOf } from "@dray/controllers/objects";
import type { Inventory } from "../inventory/inventory.ts";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { claimData } from "./claims.ts";
import type { ClaimData, Explained, Fact, PlacementData, Wait, WaitFor } from "./data.ts";
import { placementOf } from "./placement.ts";
import { Trial } from "./trial.ts";
import { claimsOfPod, type Scene, wait, waitsBeforeScheduling, waitsOnNode, waitsToEnd } from "./waits.ts";

type PodState = "waiting" | "starting" | "running" | "ending" | "ended";

const unknown: ReadonlySet<WaitFor> = new Set(["claim-missing", "claim-unusable", "class-missing"]);

type Report = Omit<Explained, "version" | "rights">;

/** Explains why a pod waits, its devices, or why it still exists. */
export async function explainPod(pod: Pod, scene: Scene, inventory: Inventory): Promise<Report> {
  const { world, features, now } = scene;
  const state = stateOf(pod);
  const first = waitsOf(pod, state, scene);
  // With missing claims the requested devices are unknown.
  const isOpen = state === "waiting" && !first.some(({ for: what }) => unknown.has(what));
  const placement = isOpen ? await placementOf(new Trial(world, pod, { features, now: () => now })) : null;
  const waits = [...first, ...placementWaits(pod, placement)];
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

function stateOf(pod: Pod): PodState {
  if (isPodTerminal(pod)) return pod.metadata.deletionTimestamp === undefined ? "ended" : "ending";
  if (pod.metadata.deletionTimestamp !== undefined) return "ending";
  if (!pod.spec.nodeName) return "waiting";
  return pod.status?.phase === "Running" ? "running" : "starting";
}

function waitsOf(pod: Pod, state: PodState, scene: Scene): Wait[] {
  switch (state) {
    case "waiting":
      return waitsBeforeScheduling(pod, scene);
    case "starting":
    case "running":
      return waitsOnNode(pod, scene);
    case "ending":
      return waitsToEnd(pod, scene);
    default:
      return [];
  }
}

/** Returns the reasons of the nodes, in the scheduler's words. */
function placementWaits(pod: Pod, placement: PlacementData | null): Wait[] {
  if (placement === null || placement.fits !== null || placement.message === null) return [];
  const condition = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  const since = condition?.status === "False" ? condition.lastTransitionTime : undefined;
  const isDevices = placement.refusals.some(({ plugin }) => plugin === "DynamicResources");
  return [
    wait(isDevices ? "devices" : "nodes", placement.message, {
      since: since === undefined ? null : String(since),
    }),
  ];
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
      return `pod ${name} fits on node ${placement?.fits}: a scheduler binds it as soon as it tries again`;
    case "starting":
      return `pod ${name} is on node ${pod.spec.nodeName} and does not run yet${because}`;
    case "running":
      return `pod ${name} runs on node ${pod.spec.nodeName}${first === undefined ? "" : `; ${first.message}`}`;
    case "ending":
      return `pod ${name} is being deleted${because}`;
    default:
      return `pod ${name} has ended (${pod.status?.phase ?? "Unknown"})`;
  }
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
]);

function factsOf(pod: Pod, { surroundings }: Scene): Fact[] {
  const owner = controllerOf(pod);
  const [event] = surroundings.events.filter(
    ({ type, reason }) => type === "Warning" && !explainedReasons.has(reason),
  );
  return [
    ...(pod.spec.nodeName ? [{ name: "node", value: pod.spec.nodeName }] : []),
    ...(owner === undefined ? [] : [{ name: "owner", value: `${owner.kind} ${owner.name}` }]),
    ...(event === undefined ? [] : [{ name: "last warning", value: `${event.reason}: ${event.message}` }]),
  ];
}
