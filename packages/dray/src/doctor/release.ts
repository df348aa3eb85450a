import type { ResourceClaim } from "@dray/api/resource/v1";
import type { World } from "../manifests/world.ts";
import { jsonPatch, kubectl } from "./finding.ts";

/** The finalizer that the scheduler adds to a claim before it allocates it (resourceapi.Finalizer). */
export const protection = "resource.kubernetes.io/delete-protection";

/** Returns the commands that delete the existing pods of a claim. */
export function deletePods({ status, metadata }: ResourceClaim, world: World): string[] {
  return (status?.reservedFor ?? []).flatMap(({ resource, name, uid }) => {
    const pod = resource === "pods" ? world.find("Pod", `${metadata.namespace}/${name}`) : undefined;
    return pod?.metadata.uid === uid ? kubectl("delete", pod) : [];
  });
}

/**
 * Returns the commands that make a claim give its devices back: its pods are deleted; without any, what is
 * left of the allocation is removed.
 */
export function freeDevices(claim: ResourceClaim, world: World): string[] {
  const pods = deletePods(claim, world);
  if (pods.length > 0) return pods;
  const reservedFor = claim.status?.reservedFor ?? [];
  // Other consumers than pods are not known here.
  if (reservedFor.some(({ resource, apiGroup }) => resource !== "pods" || apiGroup))
    return [kubectl("get", claim, "-o", "yaml")];
  return release(
    claim,
    reservedFor.map((_, index) => index),
  );
}

/**
 * Returns the commands that remove consumers of a claim; without any other one the allocation too, and then
 * the finalizer, as the controller would do: alone, it is a fault of its own.
 */
export function release(claim: ResourceClaim, indexes: readonly number[]): string[] {
  const { allocation, reservedFor = [] } = claim.status ?? {};
  const isFree = indexes.length === reservedFor.length;
  const path = (index: number): string => `/status/reservedFor/${index}`;
  // Last index first, so that the other indexes stay valid. The server rejects the patch if the claim has
  // been reserved meanwhile.
  const patch = [
    ...indexes
      .toSorted((a, b) => b - a)
      .flatMap((index) => [
        { op: "test", path: `${path(index)}/uid`, value: reservedFor[index]?.uid },
        { op: "remove", path: path(index) },
      ]),
    ...(isFree && allocation !== undefined ? [{ op: "remove", path: "/status/allocation" }] : []),
  ];
  return [
    ...(patch.length === 0 ? [] : [jsonPatch(claim, patch, "status")]),
    ...(isFree ? withoutFinalizer(claim) : []),
  ];
}

/** Returns the command that removes the finalizer of an allocation. */
export function withoutFinalizer(claim: ResourceClaim): string[] {
  const index = (claim.metadata.finalizers ?? []).indexOf(protection);
  if (index < 0) return [];
  const path = `/metadata/finalizers/${index}`;
  const patch = [
    { op: "test", path, value: protection },
    { op: "remove", path },
  ];
  return [jsonPatch(claim, patch)];
}
