import type { Device, DeviceTaint, ResourceSlice } from "@dray/api/resource/v1";
import type { DeviceInput, PreparedDevice } from "@dray/cel";
import type { DeviceState } from "./usage.ts";

/** What selectors can see of a device; devices that look the same share one. */
export interface Shape {
  readonly input: DeviceInput;
  /** The same, read; made when a selector first asks. */
  prepared: PreparedDevice | undefined;
  /** What selectors said of it, by their numbers in this generation of the selector cache. */
  verdicts: Uint8Array;
  generation: number;
  users: number;
}

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

/** All shapes in use, by what they show. */
export class ShapeTable {
  readonly #shapes = new Map<string, Shape>();

  acquire(input: DeviceInput): Shape {
    const key = keyOf(input);
    let shape = this.#shapes.get(key);
    if (shape === undefined) {
      shape = { input, prepared: undefined, verdicts: noVerdicts, generation: -1, users: 0 };
      this.#shapes.set(key, shape);
    }
    shape.users++;
    return shape;
  }

  release(shape: Shape): void {
    if (--shape.users === 0) this.#shapes.delete(keyOf(shape.input));
  }
}

const noVerdicts = new Uint8Array(0);

function keyOf({ driver, attributes, capacity, allowMultipleAllocations }: DeviceInput): string {
  return JSON.stringify([driver, attributes, capacity, allowMultipleAllocations], (_, value) =>
    typeof value === "bigint" ? `${value}n` : value,
  );
}
