import type { ResourceClaim, ResourceClaimConsumerReference } from "@dray/api/resource/v1";
import { controllerOf, isDone } from "@dray/controllers/objects";
import { idOf, resultsOf } from "../inventory/devices.ts";
import type { World } from "../manifests/world.ts";
import { counted, names } from "../text/words.ts";
import { type Finding, finding, kubectl, type Snapshot } from "./finding.ts";
import { deletePods, freeDevices, protection, release, withoutFinalizer } from "./release.ts";
import { isLongAgo } from "./times.ts";

export function checkClaims({ world, now }: Snapshot): Finding[] {
  return world
    .all("ResourceClaim")
    .flatMap(({ object: claim }) => [
      ...leakedReservations(claim, world),
      ...orphaned(claim, world),
      ...unused(claim),
      ...finalizers(claim, world),
      ...stuck(claim, world, now),
    ]);
}

/** Lists the devices of a claim for people. */
function devicesText(claim: ResourceClaim): string {
  const ids = resultsOf(claim).map(idOf);
  return ids.length === 0 ? "it has no devices" : `it has ${names(ids)}`;
}

/** Returns why a consumer no longer needs the claim; undefined: it may need it. */
function staleReason(
  { resource, apiGroup, name, uid }: ResourceClaimConsumerReference,
  claim: ResourceClaim,
  world: World,
): string | undefined {
  // Groups of pods and other objects can also reserve claims.
  if (resource !== "pods" || apiGroup) return undefined;
  const pod = world.find("Pod", `${claim.metadata.namespace}/${name}`);
  if (pod === undefined) return "there is no such pod";
  if (pod.metadata.uid !== uid) return `the pod of this name is another one (uid ${pod.metadata.uid})`;
  return isDone(pod) ? `the pod has ended (${pod.status?.phase})` : undefined;
}

function leakedReservations(claim: ResourceClaim, world: World): Finding[] {
  const reservedFor = claim.status?.reservedFor ?? [];
  const leaked = reservedFor.flatMap((consumer, index) => {
    const why = staleReason(consumer, claim, world);
    return why === undefined ? [] : [{ ...consumer, index, why }];
  });
  if (leaked.length === 0) return [];
  const evidence = [
    ...leaked.map(
      ({ index, name, uid, why }) => `status.reservedFor[${index}]: pod ${name} (uid ${uid}): ${why}`,
    ),
    devicesText(claim),
    "the resource claim controller of kube-controller-manager removes these within seconds: it does not run, or fails",
  ];
  const who =
    leaked.length === 1 ? `pod ${leaked[0]!.name}, which is gone` : `${leaked.length} pods that are gone`;
  return [
    finding("leaked-reservation", claim, `is reserved for ${who}`, {
      evidence,
      fix: release(
        claim,
        leaked.map(({ index }) => index),
      ),
    }),
  ];
}

function orphaned(claim: ResourceClaim, world: World): Finding[] {
  const owner = controllerOf(claim);
  if (owner?.kind !== "Pod" || owner.apiVersion !== "v1") return [];
  const pod = world.find("Pod", `${claim.metadata.namespace}/${owner.name}`);
  if (pod?.metadata.uid === owner.uid || claim.metadata.deletionTimestamp !== undefined) return [];
  const other =
    pod === undefined ? "there is no such pod" : `the pod of this name has uid ${pod.metadata.uid}`;
  const evidence = [
    `metadata.ownerReferences: Pod ${owner.name} (uid ${owner.uid}): ${other}`,
    devicesText(claim),
    "the garbage collector of kube-controller-manager deletes such claims: it does not run, or fails",
  ];
  // The finding about its reservations has the commands that free it; else the deletion would wait for them.
  const isLeaked = (claim.status?.reservedFor ?? []).some(
    (one) => staleReason(one, claim, world) !== undefined,
  );
  const fix = [...(isLeaked ? [] : freeDevices(claim, world)), kubectl("delete", claim)];
  return [
    finding("orphaned-claim", claim, `was made for pod ${owner.name}, which is gone`, { evidence, fix }),
  ];
}

function unused(claim: ResourceClaim): Finding[] {
  const { allocation, reservedFor = [] } = claim.status ?? {};
  if (allocation === undefined || reservedFor.length > 0) return [];
  if (claim.metadata.deletionTimestamp !== undefined) return [];
  const count = counted(resultsOf(claim).length, "device");
  const evidence = [devicesText(claim), "status.reservedFor is empty"];
  const fix = release(claim, []);
  return [
    finding("unused-allocation", claim, `holds ${count} and is reserved for no pod`, { evidence, fix }),
  ];
}

function finalizers(claim: ResourceClaim, world: World): Finding[] {
  const { finalizers = [], deletionTimestamp } = claim.metadata;
  const isAllocated = claim.status?.allocation !== undefined;
  const index = finalizers.indexOf(protection);
  if (isAllocated && index === -1) {
    // An object that is being deleted takes no finalizer: its pods have to go before it.
    const fix =
      deletionTimestamp !== undefined
        ? deletePods(claim, world)
        : [
            kubectl(
              "patch",
              claim,
              "--type=merge",
              "-p",
              JSON.stringify({ metadata: { finalizers: [...finalizers, protection] } }),
            ),
          ];
    const evidence = [`metadata.finalizers lacks ${protection}`, devicesText(claim)];
    return [
      finding("unprotected-allocation", claim, "has devices and lacks the finalizer that protects them", {
        evidence,
        fix,
      }),
    ];
  }
  if (isAllocated || index === -1) return [];
  const evidence = [
    `metadata.finalizers[${index}] is ${protection}, and there is no status.allocation`,
    ...(deletionTimestamp === undefined ? [] : [`metadata.deletionTimestamp: ${deletionTimestamp}`]),
    "a scheduler was interrupted between the finalizer and the allocation, or a controller before it removed the finalizer",
  ];
  const fix = withoutFinalizer(claim);
  return [
    finding("finalizer-without-allocation", claim, "has the finalizer of an allocation, and no devices", {
      evidence,
      fix,
    }),
  ];
}

function stuck(claim: ResourceClaim, world: World, now: number): Finding[] {
  const { deletionTimestamp, finalizers = [] } = claim.metadata;
  if (deletionTimestamp === undefined || !isLongAgo(deletionTimestamp, now)) return [];
  const users = (claim.status?.reservedFor ?? []).filter(
    (one) => staleReason(one, claim, world) === undefined,
  );
  if (users.length > 0) return [];
  const others = finalizers.filter((each) => each !== protection);
  const evidence = [
    `metadata.deletionTimestamp: ${deletionTimestamp}`,
    `metadata.finalizers: ${finalizers.join(", ") || "none"}`,
    devicesText(claim),
    others.length > 0
      ? `the component that has set ${others.join(", ")} must remove it`
      : "the resource claim controller of kube-controller-manager removes the finalizer: it does not run, or fails",
  ];
  const isReported = (claim.status?.reservedFor ?? []).length > 0 || claim.status?.allocation === undefined;
  const fix =
    others.length > 0
      ? [kubectl("get", claim, "-o", "jsonpath={.metadata.managedFields[*].manager}")]
      : [
          "kubectl get leases -n kube-system",
          // Findings about its reservations or its finalizer have these commands already.
          ...(isReported ? [] : release(claim, [])),
        ];
  return [
    finding("claim-stuck-deleting", claim, "was deleted, is used by no pod, and is still there", {
      evidence,
      fix,
    }),
  ];
}
