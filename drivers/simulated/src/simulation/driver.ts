import { encodeJSON } from "@dray/api";
import type { Device } from "@dray/api/resource/v1";
import type { ContainerEdits } from "@dray/cdi";
import { sleep } from "@dray/client";
import type {
  AllocatedClaim,
  AllocatedDevice,
  DeviceEdits,
  DeviceMetadata,
  Driver,
  Pool,
  PreparedClaim,
} from "@dray/driver";
import type { FleetDevice, FleetDriver, FleetPool } from "../fleet/fleet.ts";
import { createProfile } from "../profiles/create.ts";
import type { Profile, ProfileContext, ProfileDevice } from "../profiles/profile.ts";
import type { DeviceHealths } from "./health.ts";

export interface SimulatedDriverOptions extends Omit<ProfileContext, "driver"> {
  readonly driver: FleetDriver;
  readonly healths: DeviceHealths;
}

export interface SimulatedDriver extends Driver {
  /** Tidies up what an earlier run has left; before the driver serves. */
  start(): Promise<void>;
}

/**
 * A driver of devices that a fleet describes: publishes those of the node, gives containers variables that
 * name theirs, and takes its time, fails and breaks as the fleet says.
 */
export function simulatedDriver(options: SimulatedDriverOptions): SimulatedDriver {
  const { driver: fleet, healths, nodeName, clock } = options;
  const profile = createProfile(fleet.profile, { ...options, driver: fleet.name });
  const places = new Map(
    fleet.pools.flatMap((pool) =>
      pool.devices.map(
        (device, index) => [placeKey(pool.name, device.device.name), { device, index }] as const,
      ),
    ),
  );
  /** When the delays of claims that are being prepared end: a call that was cut short is not begun anew. */
  const delays = new Map<string, number>();
  const failures = new Map<FleetDevice, number>();

  const profileDevice = (allocated: AllocatedDevice): ProfileDevice => {
    const { pool, device } = allocated.result;
    const place = places.get(placeKey(pool, device));
    return {
      allocated,
      device: place?.device,
      index: place?.index ?? 0,
      prefix: variablePrefix(fleet.name, device),
    };
  };

  const wait = async (claim: AllocatedClaim, devices: readonly ProfileDevice[], signal: AbortSignal) => {
    const delay = Math.max(0, ...devices.map(({ device }) => device?.behaviour.prepareDelay ?? 0));
    if (delay === 0) return;
    const end = delays.get(claim.uid) ?? clock.now() + delay;
    delays.set(claim.uid, end);
    await sleep(clock, Math.max(0, end - clock.now()), signal);
    if (signal.aborted) throw new Error(`the devices need ${Math.ceil((end - clock.now()) / 1000)} s more`);
    delays.delete(claim.uid);
  };

  const failIfAsked = ({ allocated, device }: ProfileDevice): void => {
    const fails = device?.behaviour.prepareFails;
    if (device === undefined || fails === undefined) return;
    const count = (failures.get(device) ?? 0) + 1;
    if (fails.times !== undefined && count > fails.times) return;
    failures.set(device, count);
    const { pool, device: name } = allocated.result;
    const which = fails.times === undefined ? "" : ` (${count} of ${fails.times})`;
    throw new Error(`device ${pool}/${name}: ${fails.message}${which}`);
  };

  return {
    name: fleet.name,
    ...(fleet.metadata !== undefined && { metadata: { versions: fleet.metadata } }),
    start: async () => profile.start?.(),
    discover: (signal) =>
      publishedPools(
        fleet.pools.filter(({ reach }) => reach === undefined),
        healths,
        signal,
      ),
    async prepare(claim, signal) {
      const devices = claim.devices.map(profileDevice);
      const unknown = devices.find(({ device }) => device === undefined);
      if (unknown !== undefined) {
        const { pool, device } = unknown.allocated.result;
        throw new Error(`the fleet has no device ${pool}/${device} of ${fleet.name} for ${nodeName}`);
      }
      for (const device of devices) failIfAsked(device);
      await wait(claim, devices, signal);
      const prepared: DeviceEdits[] = [];
      for (const device of devices) {
        const own = await profile.prepare(claim, device, signal);
        const metadata = fleet.metadata && metadataOf(device, profile);
        const edits = editsOf(claim, device, own);
        prepared.push({ device: device.allocated, edits, ...(metadata && { metadata }) });
      }
      await profile.prepared?.(claim, devices);
      return prepared;
    },
    async unprepare(claim: PreparedClaim) {
      delays.delete(claim.uid);
      for (const allocated of claim.devices) await profile.unprepare(claim, profileDevice(allocated));
    },
    async *health(signal) {
      let before = "";
      for await (const _ of healths.changes(signal)) {
        const all = fleet.pools.flatMap((pool) =>
          pool.devices.map((device) => {
            const { health, message } = healths.of(pool.name, device);
            return { pool: pool.name, device: device.device.name, health, ...(message && { message }) };
          }),
        );
        const text = JSON.stringify(all);
        if (text !== before) yield all;
        before = text;
      }
    },
  };
}

const placeKey = (pool: string, device: string): string => JSON.stringify([pool, device]);

/** Yields the pools as they are, and again whenever a device of theirs breaks or heals. */
export async function* publishedPools(
  pools: readonly FleetPool[],
  healths: DeviceHealths,
  signal: AbortSignal,
): AsyncGenerator<readonly Pool[]> {
  let before = "";
  for await (const _ of healths.changes(signal)) {
    const published = pools.map((pool) => publishedPool(pool, healths));
    const text = encodeJSON(published);
    if (text !== before) yield published;
    before = text;
  }
}

/** The pool as its slices have it: devices that are unhealthy have a taint more (KEP-5055). */
export function publishedPool(
  pool: FleetPool,
  healths: Pick<DeviceHealths, "of">,
): Pool & { readonly name: string } {
  const { name, sharedCounters, devices, partitionTypeAttribute, skipNodeOperations, reach } = pool;
  return {
    name,
    ...(partitionTypeAttribute !== undefined && { partitionTypeAttribute }),
    ...(skipNodeOperations !== undefined && { skipNodeOperations }),
    ...(reach !== undefined && !("perDeviceNodeSelection" in reach) && reach),
    devices: devices.map((device) => publishedDevice(device, healths.of(pool.name, device))),
    ...(sharedCounters.length > 0 && { sharedCounters }),
  };
}

function publishedDevice({ device, behaviour }: FleetDevice, state: ReturnType<DeviceHealths["of"]>): Device {
  if (state.health !== "Unhealthy") return device;
  const { unhealthyTaint } = behaviour;
  const taint = { ...unhealthyTaint, effect: state.effect ?? unhealthyTaint.effect };
  const others = (device.taints ?? []).filter((one) => one.key !== taint.key || one.effect !== taint.effect);
  return { ...device, taints: [...others, taint] };
}

/** Description of a device in the metadata files of the claim. */
function metadataOf(device: ProfileDevice, profile: Profile): DeviceMetadata {
  const attributes = device.device?.device.attributes;
  const networkData = profile.networkData?.(device);
  return { ...(attributes && { attributes }), ...(networkData && { networkData }) };
}

/** `DRA_DEVICE_GPU_EXAMPLE_COM_GPU_0` */
function variablePrefix(driver: string, device: string): string {
  return `DRA_DEVICE_${driver}_${device}`.toUpperCase().replaceAll(/[^A-Z0-9_]/g, "_");
}

/** The variables that name a device, what the fleet gives to containers, and what the profile does. */
function editsOf(
  claim: AllocatedClaim,
  { allocated, device, prefix }: ProfileDevice,
  own: ContainerEdits,
): ContainerEdits {
  const { pool, device: name, shareID, consumedCapacity = {}, adminAccess } = allocated.result;
  const given = device?.behaviour.edits ?? {};
  const env = [
    `${prefix}=${pool}/${name}`,
    `${prefix}_RESOURCE_CLAIM=${claim.uid}`,
    ...(shareID === undefined ? [] : [`${prefix}_SHARE_ID=${shareID}`]),
    ...Object.entries(consumedCapacity).map(
      ([capacity, amount]) => `${prefix}_${capacity.toUpperCase().replaceAll(/[^A-Z0-9_]/g, "_")}=${amount}`,
    ),
    ...(adminAccess === true ? [`${prefix}_ADMIN_ACCESS=true`] : []),
  ];
  return {
    ...given,
    ...own,
    env: [...env, ...(own.env ?? []), ...(given.env ?? [])],
    ...(given.netDevices && own.netDevices && { netDevices: [...own.netDevices, ...given.netDevices] }),
  };
}
