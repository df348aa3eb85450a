import type { Device, DeviceTaint, ResourceSlice } from "@dray/api/resource/v1";
import type { DeviceState } from "./device-state.ts";
import type { Shape } from "./shapes.ts";

/** One device of a slice. */
export interface DeviceRecord {
  /** `driver/pool/device` */
  readonly id: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: Device;
  readonly slice: ResourceSlice;
  readonly shape: Shape;
  /** Who has it. */
  readonly state: DeviceState;
  /** Its own taints and those that rules give it; none while they are not known (gate DRADeviceTaints). */
  taints: readonly DeviceTaint[];
}

/** `driver/pool/device`: neither driver nor device has a slash. */
export function deviceId(driver: string, pool: string, device: string): string {
  return `${driver}/${pool}/${device}`;
}

export function hasBindingConditions(device: Device): boolean {
  return device.bindingConditions !== undefined && device.bindingConditions.length > 0;
}
