import type { DeviceTaint } from "../../generated/resource/v1.ts";
import type { Time } from "../../objects/object.ts";

export function stamp(taint: DeviceTaint | undefined, now: Time): void {
  if (taint) taint.timeAdded ??= now;
}
