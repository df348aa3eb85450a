import type { DeviceReservations } from "../kinds/resource/resource-claim/device-reservations.ts";
import type { AdmissionPlugin } from "./admission.ts";

/**
 * Refuses to give a claim a device that another claim has, or more than is left of its counters or its
 * capacity. Off unless it is enabled, since kube-apiserver compares no claims: there two schedulers whose
 * caches are behind may give one device twice.
 *
 * The check at admission refuses early, and for dry runs. The one that counts is that of the strategy of
 * claims, right before the write is handed to the store: it reserves the devices.
 */
export function uniqueDeviceAllocation(reservations: DeviceReservations): AdmissionPlugin {
  return {
    name: "UniqueDeviceAllocation",
    validate({ served, namespace, objectName, object }) {
      if (served.group !== "resource.k8s.io" || served.resource !== "resourceclaims") return;
      if (object !== undefined) reservations.check(namespace, objectName, object);
    },
  };
}
