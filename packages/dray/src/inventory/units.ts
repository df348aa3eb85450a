import { type DeviceHealth, isRepelling, type KnownDevice } from "./devices.ts";
import type { Use, Uses } from "./usable.ts";

/**
 * The state of a device, or of several that share counters:
 * - `unusable`: the scheduler ignores the pool;
 * - `allocated`: claims have it, and the rest is unavailable;
 * - `partly`: claims have part of it, and a part is available;
 * - `tainted`: it is free, and a taint repels claims that do not tolerate it;
 * - `waste`: a part is left that no class or template can use;
 * - `free`: it is free, and some class or template can use it;
 * - `blocked`: of one device: others have consumed the counters that it needs.
 */
export type State = "unusable" | "allocated" | "partly" | "tainted" | "waste" | "free" | "blocked";

/** A device with its state and possible use. */
export interface JudgedDevice extends KnownDevice {
  readonly state: State;
  readonly use: Use;
}

/**
 * One unit of hardware, whatever the number of its published devices: a device, or all devices that share
 * counters (partitions of one GPU are alternatives, so they are never added up).
 */
export interface Unit {
  readonly node: string | undefined;
  readonly devices: readonly JudgedDevice[];
  readonly state: State;
  readonly isUnhealthy: boolean;
}

/** Claims with admin access take no device. */
export const allocatedHolders = ({ holders }: KnownDevice) =>
  holders.filter(({ adminAccess }) => !adminAccess);

export function judgeDevice(device: KnownDevice, uses: Uses): JudgedDevice {
  const use = uses.of(device.id);
  return { ...device, use, state: stateOfDevice(device, use) };
}

function stateOfDevice(device: KnownDevice, use: Use): State {
  const { poolProblem, taints } = device;
  if (poolProblem !== undefined) return "unusable";
  const isTaken = allocatedHolders(device).length > 0;
  if (use.isAvailable) return use.shapes.size === 0 ? "waste" : isTaken ? "partly" : "free";
  if (isTaken) return "allocated";
  // A request that tolerates the taint can have it.
  if (taints.some(isRepelling)) return "tainted";
  return use.refusal?.check === "counter" ? "blocked" : use.shapes.size > 0 ? "free" : "unusable";
}

/** Groups the devices of a cluster by unit of hardware, in the order of their first devices. */
export function unitsOf(devices: readonly JudgedDevice[]): Unit[] {
  const owner = new Map<string, string>();
  const root = (key: string): string => {
    let found = key;
    for (let next = owner.get(found); next !== undefined; next = owner.get(found)) found = next;
    return found;
  };
  const keys = devices.map((device, i) => {
    const { driver, pool } = device;
    const sets = (device.device.consumesCounters ?? []).map(
      ({ counterSet }) => `${driver}/${pool}/set ${counterSet}`,
    );
    const own = `device ${i}`;
    for (const set of sets) {
      const [a, b] = [root(own), root(set)];
      if (a !== b) owner.set(a, b);
    }
    return own;
  });
  const groups = Map.groupBy(devices, (_, i) => root(keys[i]!));
  return [...groups.values()].map((members): Unit => {
    const nodes = new Set(members.map(({ node }) => node));
    return {
      node: nodes.size === 1 ? members[0]!.node : undefined,
      devices: members,
      state: stateOfUnit(members),
      isUnhealthy: members.some(({ health }) => isUnhealthy(health)),
    };
  });
}

const isUnhealthy = (health: DeviceHealth | undefined): boolean => health?.health === "Unhealthy";

function stateOfUnit(devices: readonly JudgedDevice[]): State {
  const has = (...states: readonly State[]): boolean => devices.some(({ state }) => states.includes(state));
  if (devices.every(({ state }) => state === "unusable")) return "unusable";
  const isTaken = devices.some((device) => allocatedHolders(device).length > 0);
  if (has("free", "partly")) return isTaken ? "partly" : "free";
  if (has("waste")) return "waste";
  if (isTaken) return "allocated";
  return has("tainted") ? "tainted" : "unusable";
}
