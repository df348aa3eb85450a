import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims, isPodActive } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { controllerOf } from "@dray/controllers/objects";
import type { Inventory } from "../inventory/inventory.ts";
import { nameOf } from "../manifests/place.ts";
import { names } from "../text/words.ts";
import { stateOfClaim } from "../top/rows.ts";
import { claimData } from "./claims.ts";
import type { Explained, Wait } from "./data.ts";
import { placementOf } from "./placement.ts";
import { hasStorage, type Scene, wait } from "./scene.ts";
import { Trial } from "./trial.ts";
import { missingClasses } from "./waits.ts";

type Report = Omit<Explained, "version" | "rights">;

/** Explains the consumers and devices of a claim; without devices, the nodes for a pod that uses it. */
export async function explainClaim(
  claim: ResourceClaim,
  scene: Scene,
  inventory: Inventory,
): Promise<Report> {
  const { features, now } = scene;
  const name = nameOf(claim);
  const state = stateOfClaim(claim);
  const users = usersOf(claim, scene);
  const waiting = users.filter(({ spec }) => !spec.nodeName);
  const placement =
    state === "pending" && missingClasses(claim, scene.world).length === 0
      ? await placementOf(
          new Trial(...trialOf(claim, waiting[0], scene), {
            features,
            now: () => now,
            volumes: hasStorage(scene),
          }),
          inventory,
        )
      : null;
  const waits = waitsOf(claim, users, scene);
  const owner = controllerOf(claim);
  const unplaced =
    placement !== null && placement.fits === null && waits.every(({ for: what }) => what === "consumer");
  if (unplaced) waits.unshift(wait("devices", placement.message ?? ""));
  return {
    kind: "ResourceClaim",
    namespace: claim.metadata.namespace,
    name: claim.metadata.name,
    state,
    summary: `claim ${name} ${summaryOf(state, claim)}${waits[0] === undefined ? "" : `: ${waits[0].message}`}`,
    waits,
    placement,
    claims: [claimData(claim, inventory)],
    devices: [],
    counts: null,
    headroom: {},
    facts: [
      ...(owner === undefined ? [] : [{ name: "owner", value: `${owner.kind} ${owner.name}` }]),
      { name: "pods that name it", value: users.length === 0 ? "none" : names(users.map(nameOf)) },
    ],
  };
}

function summaryOf(state: ReturnType<typeof stateOfClaim>, claim: ResourceClaim): string {
  switch (state) {
    case "pending":
      return "has no devices";
    case "allocated":
      return "has devices, and no pod uses them";
    case "reserved":
      return `has devices for ${names((claim.status?.reservedFor ?? []).map(({ name }) => name))}`;
    default:
      return "is being deleted";
  }
}

/** Returns the pods that use it and have not ended. */
function usersOf(claim: ResourceClaim, { world }: Scene): Pod[] {
  return world
    .all("Pod")
    .map(({ object }) => object)
    .filter(
      (pod) =>
        pod.metadata.namespace === claim.metadata.namespace &&
        isPodActive(pod) &&
        createdPodClaims(pod).some(({ name }) => name === claim.metadata.name),
    );
}

/** Returns a trial with the waiting pod, or with a pod that requests the claim only. */
function trialOf(claim: ResourceClaim, waiting: Pod | undefined, { world }: Scene): [Scene["world"], Pod] {
  if (waiting !== undefined) return [world, waiting];
  const { namespace, name } = claim.metadata;
  // A pod that was never created has no uid.
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      name: "a-pod-that-uses-it",
      uid: `pod-that-uses-${name}`,
      resourceVersion: "1",
      creationTimestamp: "1970-01-01T00:00:00Z",
    },
    spec: {
      containers: [{ name: "c", image: "c" }],
      resourceClaims: [{ name: "claim", resourceClaimName: name }],
      priority: 0,
      preemptionPolicy: "PreemptLowerPriority",
    },
  };
  return [
    world.with([
      { object: pod, place: { source: { file: "", text: "", lineOf: () => undefined }, root: "" } },
    ]),
    pod,
  ];
}

function waitsOf(claim: ResourceClaim, users: readonly Pod[], { world, surroundings }: Scene): Wait[] {
  const { metadata, status } = claim;
  if (metadata.deletionTimestamp !== undefined) {
    const since = String(metadata.deletionTimestamp);
    const consumers = (status?.reservedFor ?? []).map(({ name }) => name);
    const finalizers = metadata.finalizers ?? [];
    const failed = surroundings.events.find(({ reason }) => reason === "FailedUnprepareDynamicResources");
    return [
      ...(consumers.length === 0
        ? []
        : [wait("termination", `it is reserved for ${names(consumers)}: they have to end first`, { since })]),
      ...(failed === undefined ? [] : [wait("unprepare-failing", failed.message ?? "")]),
      ...(finalizers.length === 0
        ? []
        : [wait("finalizers", `finalizer ${finalizers.join(", ")}`, { since })]),
    ];
  }
  if (status?.allocation !== undefined) return [];
  const missing = missingClasses(claim, world);
  if (missing.length > 0 || users.length > 0) return missing;
  return [wait("consumer", "no pod uses it: it gets devices with the first that does")];
}
