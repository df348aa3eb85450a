/** KEP-5055 */
import type { ResourceSlice } from "../../../generated/resource/v1.ts";
import type { ResourceSlice as OldResourceSlice } from "../../../generated/resource/v1beta1.ts";
import type { Time } from "../../../objects/object.ts";
import { stamp } from "../taint-time.ts";

export function defaultSlice(slice: ResourceSlice, now: Time): void {
  for (const device of slice.spec?.devices ?? []) for (const taint of device.taints ?? []) stamp(taint, now);
}

export function defaultOldSlice(slice: OldResourceSlice, now: Time): void {
  for (const device of slice.spec?.devices ?? []) {
    for (const taint of device.basic?.taints ?? []) stamp(taint, now);
  }
}
