import type { DeviceTaint } from "../../generated/resource/v1.ts";
import type { Time } from "../../objects/object.ts";
import type { Wire } from "../../objects/wire.ts";

export function stamp(taint: Wire<DeviceTaint> | null | undefined, now: Time): void {
  if (taint) taint.timeAdded ??= now;
}
