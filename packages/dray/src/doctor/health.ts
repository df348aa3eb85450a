import type { Pod } from "@dray/api/core/v1";
import type { DeviceTaint, ResourceClaim } from "@dray/api/resource/v1";
import { claimEviction, evictingClaims } from "@dray/controllers/objects";
import {
  devicesOf,
  idOf,
  isRepelling,
  type KnownDevice,
  resultsOf,
  type TaintOfDevice,
  taintText,
} from "../inventory/devices.ts";
import { nameOf } from "../manifests/place.ts";
import { names } from "../text/words.ts";
import { type Finding, finding, kubectl, type ServerVersions, type Snapshot } from "./finding.ts";
import { isLongAgo } from "./times.ts";

/** A claim with the pods that run with its devices. */
interface UsedClaim {
  readonly claim: ResourceClaim;
  readonly pods: readonly Pod[];
}

/** Finds devices that pods have although they are unhealthy, or tainted with effect NoExecute. */
export function checkHealth(snapshot: Snapshot): Finding[] {
  const devices = new Map(devicesOf(snapshot.world, snapshot.features).map((device) => [device.id, device]));
  return usedClaims(snapshot).flatMap((used) =>
    resultsOf(used.claim).flatMap((result) => {
      const device = devices.get(idOf(result));
      // Admin access watches a device, whatever its state (KEP-5018).
      if (device === undefined || result.adminAccess === true) return [];
      return [...unhealthy(device, used, snapshot), ...tainted(device, used, snapshot)];
    }),
  );
}

/** Returns the claims that pods use, as eviction sees them (KEP-5055). */
function usedClaims({ world, features }: Snapshot): UsedClaim[] {
  const groupsHaveClaims = features.enabled("DRAWorkloadResourceClaims");
  const users = new Map<ResourceClaim, Pod[]>();
  for (const { object: pod } of world.all("Pod")) {
    const claimOf = (name: string): ResourceClaim | undefined =>
      world.find("ResourceClaim", `${pod.metadata.namespace}/${name}`);
    for (const claim of evictingClaims(pod, claimOf, groupsHaveClaims))
      users.set(claim, [...(users.get(claim) ?? []), pod]);
  }
  return [...users].map(([claim, pods]) => ({ claim, pods }));
}

const podsText = (pods: readonly Pod[]): string =>
  `${pods.length === 1 ? "pod" : "pods"} ${names(pods.map(nameOf))} ${pods.length === 1 ? "uses" : "use"} it`;

const deletions = (pods: readonly Pod[]): string[] => pods.map((pod) => kubectl("delete", pod));

function unhealthy(device: KnownDevice, { claim, pods }: UsedClaim, { server }: Snapshot): Finding[] {
  const { health, id, taints } = device;
  if (health?.health !== "Unhealthy") return [];
  const repelling = taints.filter(isRepelling);
  const evidence = [
    `device ${id} is Unhealthy${health.message ? `: ${health.message}` : ""}`,
    repelling.length > 0
      ? `taint ${names(repelling.map(taintText))} keeps other claims from it`
      : "no taint keeps other claims from it: the next pod may get it again",
    podsText(pods),
  ];
  const fix = [...(repelling.length > 0 ? [] : taintCommand(device, server)), ...deletions(pods)];
  const message = `has device ${id}, which is unhealthy`;
  return [finding("unhealthy-device-in-use", claim, message, { evidence, fix })];
}

/** Returns the command that keeps other claims from a device, where the server has DeviceTaintRules. */
function taintCommand({ driver, pool, device }: KnownDevice, server: ServerVersions | undefined): string[] {
  if (server?.taintRules === undefined) return [];
  const rule = {
    apiVersion: `resource.k8s.io/${server.taintRules}`,
    kind: "DeviceTaintRule",
    metadata: { generateName: `unhealthy-${device.name}-` },
    spec: {
      deviceSelector: { driver, pool, device: device.name },
      taint: { key: "doctor.dray.dev/unhealthy", effect: "NoSchedule" },
    },
  };
  return [`echo '${JSON.stringify(rule)}' | kubectl create -f -`];
}

function tainted(device: KnownDevice, used: UsedClaim, snapshot: Snapshot): Finding[] {
  const evicting = device.taints.filter(({ effect }) => effect === "NoExecute");
  if (evicting.length === 0) return [];
  const { claim, pods } = used;
  const end = evictionTime(device, evicting, claim);
  const { now } = snapshot;
  const isLate = end !== undefined && isLongAgo(new Date(end).toISOString(), now);
  const evidence = [
    ...evicting.map((taint) => `taint ${taintText(taint)}: ${originText(taint)}`),
    end === undefined
      ? "the claim tolerates it for ever"
      : isLate
        ? "the claim does not tolerate it: the device taint eviction controller of kube-controller-manager does not run, or fails"
        : `the claim tolerates it until ${new Date(end).toISOString()}; then its pods are evicted`,
    podsText(pods),
  ];
  const message = `has device ${device.id}, which is tainted with effect NoExecute`;
  const fix = deletions(pods);
  return [finding("tainted-device-in-use", claim, message, { evidence, fix, isMinor: end === undefined })];
}

const originText = ({ rule, timeAdded }: TaintOfDevice): string => {
  const who = rule === undefined ? "its driver sets it" : `DeviceTaintRule ${rule} sets it`;
  return timeAdded === undefined ? who : `${who}, since ${timeAdded}`;
};

/** Milliseconds since the epoch until which the claim tolerates the taints; undefined: for ever. */
function evictionTime(
  { id }: KnownDevice,
  taints: readonly DeviceTaint[],
  claim: ResourceClaim,
): number | undefined {
  const results = resultsOf(claim).filter((result) => idOf(result) === id);
  const { status } = claim;
  const only = {
    ...claim,
    status: { ...status, allocation: { ...status?.allocation, devices: { results } } },
  };
  return claimEviction(only, { pools: { evictingTaints: () => taints }, rules: [] })?.at;
}
