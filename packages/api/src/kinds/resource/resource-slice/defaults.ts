/** KEP-5055 */
import type { ResourceSlice } from "../../../generated/resource/v1.ts";
import type { ResourceSlice as OldResourceSlice } from "../../../generated/resource/v1beta1.ts";
import type { Wire } from "../../../objects/wire.ts";
import type { DefaultsContext } from "../../define.ts";
import { stamp } from "../taint-time.ts";

export function defaultSlice(slice: Wire<ResourceSlice>, { now }: DefaultsContext): void {
  for (const device of slice.spec?.devices ?? []) for (const taint of device.taints ?? []) stamp(taint, now);
}

export function defaultOldSlice(slice: Wire<OldResourceSlice>, { now }: DefaultsContext): void {
  for (const device of slice.spec?.devices ?? []) {
    for (const taint of device.basic?.taints ?? []) stamp(taint, now);
  }
}
