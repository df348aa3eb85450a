import type { AdmissionPlugin } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";
import { DeviceReservations } from "./device-reservations.ts";

const isClaim = ({ group, resource }: { readonly group: string; readonly resource: string }): boolean =>
  group === "resource.k8s.io" && resource === "resourceclaims";

/**
 * Refuses to give a claim a device that another claim has, or more than is left of its counters or its
 * capacity. Off unless it is enabled, since kube-apiserver compares no claims: there two schedulers whose
 * caches are behind may give one device twice.
 *
 * The check at admission refuses early, and for dry runs. The one that counts is made right before the write
 * is handed to the store: it reserves the devices.
 */
export function uniqueDeviceAllocation({ storage, deviceUsage }: AdmissionContext): AdmissionPlugin {
  const reservations = new DeviceReservations(storage, deviceUsage);
  return {
    validate({ served, namespace, objectName, object }) {
      if (isClaim(served) && object !== undefined) reservations.check(namespace, objectName, object);
    },
    reserve(served, key, object) {
      return isClaim(served) ? reservations.reserve(key, object) : undefined;
    },
  };
}
