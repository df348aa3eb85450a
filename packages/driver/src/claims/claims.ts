import { StatusError } from "@dray/api";
import { ResourceClaim } from "@dray/api/resource/v1";
import { qualifiedName, removeSpec, type Spec, writeSpec } from "@dray/cdi";
import { type Client, type Clock, ConnectionError, type Log, sleep } from "@dray/client";
import type { Claim as ClaimRef } from "@dray/rpc/dra/v1";
import type { AllocatedClaim, AllocatedDevice, Driver } from "../driver.ts";
import { isObject, wrongShape } from "../shared/shapes.ts";
import { allocatedClaim, baseRequest } from "./allocated.ts";
import type { Checkpoint, Checkpoints, PreparedDevice } from "./checkpoint.ts";
import { createKeyedMutex, createSerial, type InstanceLock } from "./instance-lock.ts";
import type { MetadataFiles } from "./metadata.ts";
import { decodeParameters } from "./parameters.ts";

export interface ClaimsOptions {
  readonly driver: Driver;
  readonly client: Client;
  readonly checkpoints: Checkpoints;
  readonly cdiDirectory: string;
  readonly bootID: string;
  /** Undefined: the driver has none. */
  readonly metadata: MetadataFiles | undefined;
  readonly lock: InstanceLock;
  /** False: `prepare` and `unprepare` of different claims run side by side. */
  readonly serialize: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Called at each step; what it throws is as if the driver had died there. For tests. */
  readonly atStep?: ((step: CrashStep) => void) | undefined;
}

/** The steps between which a driver may die, in their order. */
export const crashSteps = [
  /** The kubelet has asked; nothing is done yet. */
  "prepare-begun",
  /** It is on disk that `prepare` may have run. */
  "prepare-recorded",
  /** The driver's `prepare` has returned. */
  "prepare-called",
  /** CDI and metadata files are there. */
  "prepare-written",
  /** It is on disk that the claim is prepared; the kubelet has no answer yet. */
  "prepare-completed",
  "unprepare-begun",
  /** The driver's `unprepare` has returned. */
  "unprepare-called",
  /** CDI and metadata files are gone. */
  "unprepare-removed",
  /** The checkpoint is gone; the kubelet has no answer yet. */
  "unprepare-completed",
] as const;
export type CrashStep = (typeof crashSteps)[number];

/** A device as the kubelet is told of it. */
export interface AnsweredDevice {
  readonly requestNames: string[];
  readonly poolName: string;
  readonly deviceName: string;
  readonly cdiDeviceIds: string[];
  readonly shareId?: string;
}

/** Prepares and unprepares claims, each of them one call at a time, and remembers on disk what it did. */
export interface Claims {
  prepare(ref: ClaimRef, signal: AbortSignal): Promise<AnsweredDevice[]>;
  unprepare(ref: ClaimRef): Promise<void>;
  /**
   * Unprepares claims that the API server no longer has. One that is missing for the first time is spared until the
   * next call: the kubelet of a node may be about to unprepare it, after its containers have stopped.
   */
  removeVanished(): Promise<void>;
  /** How many claims have something to undo. */
  prepared(): Promise<number>;
  /** What is prepared, or has begun to be. */
  preparedDevices(): Promise<{ readonly claims: number; readonly devices: number }>;
  /** When a claim was last being unprepared, for the kubelet. */
  readonly unpreparedAt: number | undefined;
}

/** The kind of a driver's CDI specs. */
export function cdiKind(driver: Driver): string {
  return driver.cdi?.kind ?? `k8s.${driver.name}/claim`;
}

/** Writes the spec of the edits that all of the driver's devices share, if it has any. */
export async function writeCommonSpec(driver: Driver, directory: string): Promise<void> {
  const edits = driver.cdi?.common;
  if (edits === undefined) return;
  const spec = { kind: cdiKind(driver), devices: [{ name: commonDevice, containerEdits: edits }] };
  await writeSpec(directory, spec, commonDevice);
}

const commonDevice = "common";

/**
 * Milliseconds. The kubelet gives a call 45 s, and after an error a minute and more may pass before the next: an API
 * server that starts anew is waited for.
 */
const fetching = { within: 25_000, firstDelay: 100, lastDelay: 2000 } as const;

export function createClaims(options: ClaimsOptions): Claims {
  const { driver, client, checkpoints, cdiDirectory, bootID, metadata, lock, serialize, clock, log } =
    options;
  const { atStep = () => {} } = options;
  const kind = cdiKind(driver);
  const resource = client.resource(ResourceClaim);
  /** Outermost: what is asked of one claim keeps its order, and nobody else waits for its GET. */
  const byClaim = createKeyedMutex();
  /** Across all instances on the node. */
  const exclusively = createSerial(lock, clock);
  const directly = <T>(run: () => Promise<T>): Promise<T> => run();
  /** Around calls of the driver. */
  const calling = serialize ? exclusively : directly;
  /** Around "is the device free? then it is ours", where that is not inside of `calling` already. */
  const booking = serialize ? directly : exclusively;
  /** Claims that are being fetched. */
  const fetches = new Map<string, AbortController>();
  const missing = new Set<string>();
  let unpreparedAt: number | undefined;

  const get = async ({ namespace, name }: ClaimRef, signal: AbortSignal): Promise<ResourceClaim> => {
    const end = clock.now() + fetching.within;
    for (let delay: number = fetching.firstDelay; ; delay = Math.min(delay * 2, fetching.lastDelay)) {
      try {
        return await resource.get({ namespace, name }, { signal });
      } catch (error) {
        if (!passes(error) || signal.aborted || clock.now() + delay > end) throw error;
        await sleep(clock, delay, signal);
      }
    }
  };

  /** The claim that the kubelet means: one that was created anew under the same name is refused. */
  const fetch = async (ref: ClaimRef, signal: AbortSignal): Promise<AllocatedClaim> => {
    const unprepared = new AbortController();
    fetches.set(ref.uid, unprepared);
    let claim: ResourceClaim;
    try {
      claim = await get(ref, AbortSignal.any([signal, unprepared.signal]));
    } catch (error) {
      unprepared.signal.throwIfAborted();
      throw error;
    } finally {
      fetches.delete(ref.uid);
    }
    unprepared.signal.throwIfAborted();
    const { uid } = claim.metadata;
    if (uid !== ref.uid) {
      throw new Error(
        `claim ${ref.namespace}/${ref.name} has UID ${uid}, not ${ref.uid}: it was deleted and created anew`,
      );
    }
    if (claim.status?.allocation === undefined) {
      throw new Error(`claim ${ref.namespace}/${ref.name} is not allocated`);
    }
    return allocatedClaim(claim, driver.name);
  };

  /**
   * A device whose pod was force-deleted can be allocated again while the old container still runs; it is free when
   * the kubelet has unprepared it. Only admin access and shares go together.
   */
  const refuseInUse = async (claim: AllocatedClaim): Promise<void> => {
    const exclusive = ({ result }: AllocatedDevice): boolean =>
      result.adminAccess !== true && result.shareID === undefined;
    const wanted = claim.devices.filter(exclusive);
    if (wanted.length === 0) return;
    for (const other of await checkpoints.all()) {
      if (other.uid === claim.uid) continue;
      for (const { result } of other.devices.filter(exclusive)) {
        if (wanted.some((one) => one.result.pool === result.pool && one.result.device === result.device)) {
          throw new Error(
            `device ${result.pool}/${result.device} is still prepared for claim ${other.namespace}/${other.name} (UID ${other.uid})`,
          );
        }
      }
    }
  };

  /**
   * In the order of `prepared`. Names of devices are unique in their pool only, and requests for admin access may get one
   * device twice: the second of a name has a suffix that no device's name has.
   */
  const cdiNames = (uid: string, prepared: readonly PreparedDevice[]): string[] => {
    const counts = new Map<string, number>();
    return prepared.map(({ device: { result } }) => {
      const name = `${uid}-${result.device}${result.shareID === undefined ? "" : `-${result.shareID}`}`;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      return count === 1 ? name : `${name}:${count}`;
    });
  };

  const writeClaimSpec = async (uid: string, prepared: readonly PreparedDevice[]): Promise<void> => {
    const names = cdiNames(uid, prepared);
    const devices = prepared
      .map(({ edits }, i) => ({ name: names[i]!, containerEdits: edits }))
      .filter(({ containerEdits }) => changesSomething(containerEdits));
    if (devices.length > 0) await writeSpec(cdiDirectory, { kind, devices }, uid);
  };

  /** Writes the files that the answer names, and makes it. */
  const answer = async (
    claim: AllocatedClaim,
    prepared: readonly PreparedDevice[],
  ): Promise<AnsweredDevice[]> => {
    const { uid } = claim;
    await writeClaimSpec(uid, prepared);
    const described = new Map(await metadata?.write(claim, prepared));
    const names = cdiNames(uid, prepared);
    return prepared.map(({ device, edits }, i) => {
      const request = baseRequest(device.result.request);
      // With the first device of each request: containers get it once.
      const description = described.get(request);
      described.delete(request);
      return {
        requestNames: [request],
        poolName: device.result.pool,
        deviceName: device.result.device,
        cdiDeviceIds: [
          ...(driver.cdi?.common === undefined ? [] : [qualifiedName(kind, commonDevice)]),
          ...(changesSomething(edits) ? [qualifiedName(kind, names[i]!)] : []),
          ...(description === undefined ? [] : [description]),
        ],
        ...(device.result.shareID === undefined ? {} : { shareId: device.result.shareID }),
      };
    });
  };

  const undo = async (checkpoint: Checkpoint): Promise<void> => {
    await driver.unprepare(checkpoint);
    atStep("unprepare-called");
    await removeSpec(cdiDirectory, kind, checkpoint.uid);
    await metadata?.remove(checkpoint);
    atStep("unprepare-removed");
    await checkpoints.remove(checkpoint.uid);
    atStep("unprepare-completed");
  };

  const prepare = async (claim: AllocatedClaim, signal: AbortSignal): Promise<AnsweredDevice[]> => {
    // Whoever has given up may unprepare next, and would not know of what is prepared from now on.
    if (signal.aborted) throw new Error("the caller has gone");
    atStep("prepare-begun");
    const known = await checkpoints.read(claim.uid);
    if (known !== undefined && !sameDevices(known.devices, claim.devices)) {
      // Deallocated and allocated anew, and the unprepare between never came through.
      await undo(known);
    } else if (known?.state === "Completed" && known.bootID === bootID) {
      // Written even if it should be there: somebody may have emptied the folder.
      return answer(claim, known.prepared!);
    }
    const { uid, namespace, name, devices } = claim;
    const checkpoint = { version: 1, uid, namespace, name, devices, bootID } as const;
    // Before anything is written: what is refused leaves nothing to undo.
    const { parameters } = driver;
    const decoded = parameters === undefined ? claim : await decodeParameters(claim, parameters);
    await booking(async () => {
      await refuseInUse(claim);
      await checkpoints.write({ ...checkpoint, state: "Started" });
    });
    atStep("prepare-recorded");
    const prepared = checkedEdits(claim, await driver.prepare(decoded, signal));
    atStep("prepare-called");
    const answered = await answer(claim, prepared);
    atStep("prepare-written");
    await checkpoints.write({ ...checkpoint, state: "Completed", prepared });
    atStep("prepare-completed");
    log.info({}, `Returning newly prepared devices for claim '${uid}': [${answered.map(shown).join(" ")}]`);
    return answered;
  };

  return {
    prepare: (ref, signal) =>
      byClaim(ref.uid, async () => {
        const claim = await fetch(ref, signal);
        return claim.devices.length === 0 ? [] : calling(() => prepare(claim, signal));
      }),
    async unprepare(ref) {
      unpreparedAt = clock.now();
      fetches.get(ref.uid)?.abort(new Error("the claim is to be unprepared"));
      try {
        await byClaim(ref.uid, () =>
          calling(async () => {
            atStep("unprepare-begun");
            const known = await checkpoints.read(ref.uid);
            if (known !== undefined) return undo(known);
            await removeSpec(cdiDirectory, kind, ref.uid);
            await metadata?.remove(ref);
          }),
        );
      } finally {
        unpreparedAt = clock.now();
      }
    },
    prepared: async () => (await checkpoints.all()).length,
    async preparedDevices() {
      const all = await checkpoints.all();
      return { claims: all.length, devices: all.reduce((sum, { devices }) => sum + devices.length, 0) };
    },
    get unpreparedAt() {
      return unpreparedAt;
    },
    async removeVanished() {
      const gone = new Set<string>();
      for (const checkpoint of await checkpoints.all()) {
        if (!(await vanished(checkpoint))) continue;
        const { uid, namespace, name } = checkpoint;
        gone.add(uid);
        if (!missing.has(uid)) continue;
        await byClaim(uid, () =>
          calling(async () => {
            // The kubelet may have been faster.
            const known = await checkpoints.read(uid);
            if (known === undefined) return;
            log.warn({ claim: `${namespace}/${name}`, uid }, "Unpreparing a claim that no longer exists");
            await undo(known);
          }),
        );
      }
      missing.clear();
      for (const uid of gone) missing.add(uid);
    },
  };

  async function vanished({ uid, namespace, name }: Checkpoint): Promise<boolean> {
    try {
      return (await resource.get({ namespace, name })).metadata.uid !== uid;
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return true;
      throw error;
    }
  }
}

/** True for errors of a server that is not there or not ready. */
function passes(error: unknown): boolean {
  if (error instanceof StatusError) return error.code === 429 || error.code >= 500;
  return error instanceof ConnectionError;
}

function changesSomething(edits: Spec["devices"][number]["containerEdits"]): boolean {
  return Object.values(edits).some((value) => !Array.isArray(value) || value.length > 0);
}

function keyOf({ result }: AllocatedDevice): string {
  return [result.request, result.pool, result.device, result.shareID ?? ""].join("\n");
}

function sameDevices(one: readonly AllocatedDevice[], other: readonly AllocatedDevice[]): boolean {
  return one.length === other.length && one.every((device, i) => keyOf(device) === keyOf(other[i]!));
}

/**
 * What the driver's `prepare` returned, each device the one of the claim. Throws if a device of the claim is left out, or
 * if something has a wrong shape.
 */
function checkedEdits(claim: AllocatedClaim, returned: unknown): PreparedDevice[] {
  if (!Array.isArray(returned)) {
    throw new Error(wrongShape("prepare(claim)", returned, "a list of {device, edits}"));
  }
  const devices = new Map(claim.devices.map((device) => [keyOf(device), device]));
  const prepared = returned.map((one: unknown, i): PreparedDevice => {
    const at = `prepare(claim)[${i}]`;
    if (!isObject(one)) throw new Error(wrongShape(at, one, "an object {device, edits}"));
    const { device, edits, metadata } = one;
    const known = isObject(device) && isObject(device["result"]) && devices.get(keyOf(device as never));
    if (!known) throw new Error(wrongShape(`${at}.device`, device, "one of claim.devices"));
    if (!isObject(edits)) throw new Error(wrongShape(`${at}.edits`, edits, "an object, edits of CDI"));
    if (metadata === undefined) return { device: known, edits };
    if (!isObject(metadata)) {
      throw new Error(wrongShape(`${at}.metadata`, metadata, "an object {attributes, networkData}"));
    }
    return { device: known, edits, metadata };
  });
  for (const device of claim.devices) {
    if (prepared.some((one) => one.device === device)) continue;
    const { request, pool, device: name } = device.result;
    throw new Error(`the driver did not prepare device ${pool}/${name} of request ${request}`);
  }
  return prepared;
}

function shown(device: AnsweredDevice): string {
  const { requestNames, poolName, deviceName, cdiDeviceIds } = device;
  return `{[${requestNames.join(" ")}] ${poolName} ${deviceName} [${cdiDeviceIds.join(" ")}]}`;
}
