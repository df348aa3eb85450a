import { forbidden } from "../errors/status.ts";
import type { AdmissionPlugin } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";
import { DeviceHolders, type TakenDevice } from "./device-holders.ts";
import { followDevices, unversioned } from "./device-usage.ts";

const resource = { group: "resource.k8s.io", resource: "resourceclaims" };

/**
 * Refuses to give a claim a device that another claim has, or more than is left of its counters or its capacity. Off
 * unless it is enabled, since kube-apiserver compares no claims: there two schedulers whose caches are behind may give
 * one device twice.
 *
 * The check that counts is the one right before the write is handed to the store, which reserves the devices until the
 * watch cache shows the outcome: of two writes at the same time the second one sees the first. The check at admission
 * refuses earlier, and for dry runs.
 *
 * The answer is 403, not 409: kube-scheduler repeats a write that conflicts with the same devices, five times, and
 * begins anew for any other error, with back-off and a newer cache.
 * Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, bindClaim.
 */
export function uniqueDeviceAllocation({ storage, deviceUsage }: AdmissionContext): AdmissionPlugin {
  const claims = storage.cache(resource.resource);
  const holders = new DeviceHolders(claims);
  if (deviceUsage !== undefined) followDevices(storage, deviceUsage);

  /** Reserves what a write gives to a claim; returns what ends that. Throws 403. */
  function reserve(key: string, object: object): (() => void) | undefined {
    const gained = holders.gained(key, object);
    if (gained.length === 0) return undefined;
    const name = key.slice(key.lastIndexOf("/") + 1);
    const taken = holders.taken(gained);
    if (taken !== undefined) throw forbidden(resource, name, textOf(taken, claims.prefix));
    const results = gained.map(({ result }) => result);
    const giveBack = deviceUsage?.reserve(unversioned(object), { devices: { results } });
    if (typeof giveBack === "string") throw forbidden(resource, name, giveBack);
    const release = holders.reserve(gained);
    return () => {
      release();
      giveBack?.();
    };
  }

  storage.guard = (key, object) => (key.startsWith(claims.prefix) ? reserve(key, object) : undefined);
  return {
    name: "UniqueDeviceAllocation",
    validate({ served, namespace, objectName, object }) {
      if (served.group !== resource.group || served.resource !== resource.resource) return;
      if (object !== undefined) reserve(`${claims.prefix}${namespace}/${objectName}`, object)?.();
    },
  };
}

function textOf({ device, holder, shared }: TakenDevice, prefix: string): string {
  const how = shared ? "is shared by" : "is allocated to";
  return `device ${device} ${how} claim ${holder.slice(prefix.length)}`;
}
