import type { Device, DeviceTaint, ResourceSlice } from "@dray/api/resource/v1";
import type { DeviceState } from "./device-state.ts";
import type { NodeSelection } from "./node-selection.ts";
import type { Shape } from "./shapes.ts";

/** One device of a slice. */
export interface DeviceRecord {
  /** `driver/pool/device` */
  readonly id: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: Device;
  readonly slice: ResourceSlice;
  /** The nodes that the device is for; undefined if they are those of its slice. */
  readonly nodes: NodeSelection | undefined;
  readonly shape: Shape;
  readonly state: DeviceState;
  /** Its own taints and those of DeviceTaintRules; empty while the gate DRADeviceTaints is off. */
  taints: readonly DeviceTaint[];
}

/** Returns `driver/pool/device`, which is unique: neither driver nor device contain a slash. */
export function deviceId(driver: string, pool: string, device: string): string {
  return `${driver}/${pool}/${device}`;
}

export function hasBindingConditions(device: Device): boolean {
  return device.bindingConditions !== undefined && device.bindingConditions.length > 0;
}
