import type { Features } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import { hasClaims, podRequests } from "@dray/api/pod";
import { extendedResourcesOf, isExtendedResource } from "@dray/scheduler";
import type { MissingRight } from "../manifests/live.ts";
import type { World } from "../manifests/world.ts";
import { podsOf } from "./workloads.ts";

const lacking = "pods that they still lack are not in this plan";

/** Effect of each optional kind without permission to read it; other kinds are required. */
const without: Readonly<Record<string, string>> = {
  Namespace: "no namespace has labels in this plan",
  PriorityClass: "pods that name one have priority 0 in this plan",
  ResourceClaimTemplate: "pods that name one wait in this plan, unless it is among the manifests",
  PodGroup: "pods of a group that is not among the manifests wait for it in this plan",
  DeviceTaintRule: "taints that they set are not known to this plan",
  Deployment: lacking,
  ReplicaSet: lacking,
  StatefulSet: lacking,
  DaemonSet: lacking,
  Job: lacking,
};
/** Kinds that are only needed if a pod without a node uses devices. */
const ofDevices: ReadonlySet<string> = new Set(["ResourceSlice", "DeviceClass", "ResourceClaim"]);
/** Kinds that manifests may describe completely. */
const mayBeGiven = ["Node", "ResourceSlice", "DeviceClass"] as const;

/** The user lacks rights that a correct plan needs. */
export class RightsError extends Error {
  override readonly name = "RightsError";
}

/**
 * Throws a RightsError with the missing permissions that a correct plan needs; returns the effects of missing
 * optional ones.
 */
export function checkRights(
  { name: cluster, missing }: { readonly name: string; readonly missing: readonly MissingRight[] },
  world: World,
  features: Features,
): string[] {
  const needed = missing.filter(({ kind }) => isNeeded(kind, world, features));
  if (needed.length > 0) {
    const resources = missing.map(({ resource }) => resource).join(",");
    throw new RightsError(
      [
        `${cluster}: a plan needs rights that you do not have:`,
        ...needed.map((right) => `  ${rightText(right)}`),
        "an administrator grants them by:",
        `  kubectl create clusterrole dray-plan --verb=list --resource=${resources}`,
        "  kubectl create clusterrolebinding dray-plan --clusterrole=dray-plan --user=YOU",
      ].join("\n"),
    );
  }
  const byConsequence = Map.groupBy(
    missing,
    ({ kind, only = "" }) => `${only} ${without[kind] ?? "none of these pods needs them"}`,
  );
  return [...byConsequence].map(([key, rights]) => {
    const { only } = rights[0]!;
    const consequence = key.slice((only ?? "").length + 1);
    const resources = rights.map(({ resource }) => resource).join(", ");
    return `${cluster}: no right to ${rightText({ ...rights[0]!, resource: resources })}: ${consequence}`;
  });
}

function rightText({ verb, resource, only }: MissingRight): string {
  return `${verb} ${resource}${only === undefined ? "" : ` in all namespaces (only in ${only})`}`;
}

function isNeeded(kind: string, world: World, features: Features): boolean {
  if (kind in without) return false;
  const given = mayBeGiven.find((each) => each === kind);
  if (given !== undefined && world.all(given).length > 0) return false;
  return !ofDevices.has(kind) || usesDevices(world, features);
}

/** A waiting or missing pod has claims, or extended resources that devices may serve (KEP-5004). */
function usesDevices(world: World, features: Features): boolean {
  if (!world.isReadable("Pod")) return true;
  const nodes = world.all("Node").map(({ object }) => object);
  const mayBeServed = features.enabled("DRAExtendedResource") ? extendedResources(world, nodes) : () => false;
  return podsOf(world, nodes).some(
    ({ object: pod }) =>
      (pod.spec.nodeName ?? "") === "" &&
      (hasClaims(pod) ||
        podRequests(pod)
          .keys()
          .some((resource) => mayBeServed(resource))),
  );
}

/**
 * Returns whether devices may serve a resource. Without known classes any resource may have one, unless a
 * device plugin offers it.
 */
function extendedResources(world: World, nodes: readonly Node[]): (resource: string) => boolean {
  const classes = world.all("DeviceClass").map(({ object }) => object);
  const offered = new Set(nodes.flatMap(({ status }) => Object.keys(status?.allocatable ?? {})));
  if (world.isReadable("DeviceClass"))
    return (resource) => classes.some((deviceClass) => extendedResourcesOf(deviceClass).includes(resource));
  return (resource) => isExtendedResource(resource) && !offered.has(resource);
}
