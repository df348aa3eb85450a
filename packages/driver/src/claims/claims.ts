import type { Client, Clock, Log } from "@dray/client";
import type { Claim as ClaimRef } from "@dray/rpc/dra/v1";
import type { AllocatedClaim, AllocatedDevice, Driver } from "../types/driver.ts";
import { baseRequest } from "./allocated.ts";
import { ClaimSpecs } from "./cdi.ts";
import type { Checkpoint, Checkpoints, PreparedDevice } from "./checkpoint.ts";
import { checkedEdits, sameDevices } from "./edits.ts";
import { ClaimFetcher } from "./fetch.ts";
import { createKeyedMutex, createSerial, type InstanceLock } from "./instance-lock.ts";
import type { MetadataFiles } from "./metadata.ts";
import { decodeParameters } from "./parameters.ts";
import type { CrashStep } from "./steps.ts";

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

/** A device in the response to the kubelet. */
export interface AnsweredDevice {
  readonly requestNames: string[];
  readonly poolName: string;
  readonly deviceName: string;
  readonly cdiDeviceIds: string[];
  readonly shareId?: string;
}

/** Prepares and unprepares claims, each of them one call at a time, and records on disk what it did. */
export interface Claims {
  prepare(ref: ClaimRef, signal: AbortSignal): Promise<AnsweredDevice[]>;
  unprepare(ref: ClaimRef): Promise<void>;
  /**
   * Unprepares claims that the API server no longer has. One that is missing for the first time is spared
   * until the next call: the kubelet of a node may be about to unprepare it, after its containers have
   * stopped.
   */
  removeVanished(): Promise<void>;
  /** Number of claims that have something to undo. */
  prepared(): Promise<number>;
  /** Claims that are prepared, or whose prepare has begun. */
  preparedDevices(): Promise<{ readonly claims: number; readonly devices: number }>;
  /** When a claim was last being unprepared, for the kubelet. */
  readonly unpreparedAt: number | undefined;
}

type Run = <T>(work: () => Promise<T>) => Promise<T>;

export function createClaims(options: ClaimsOptions): Claims {
  return new NodeClaims(options);
}

class NodeClaims implements Claims {
  readonly #options: ClaimsOptions;
  readonly #atStep: (step: CrashStep) => void;
  readonly #fetcher: ClaimFetcher;
  readonly #specs: ClaimSpecs;
  /** Outermost: calls for one claim keep their order, and no other claim waits for its GET. */
  readonly #byClaim = createKeyedMutex();
  /** Around calls of the driver. */
  readonly #callDriver: Run;
  /**
   * Around "if the device is free, record that it is in use", where that is not inside of `#callDriver`
   * already.
   */
  readonly #reserve: Run;
  /** UIDs of claims that the last `removeVanished` has missed for the first time. */
  readonly #missing = new Set<string>();
  #unpreparedAt: number | undefined;

  constructor(options: ClaimsOptions) {
    const { driver, client, cdiDirectory, lock, serialize, clock } = options;
    this.#options = options;
    this.#atStep = options.atStep ?? (() => {});
    this.#fetcher = new ClaimFetcher(driver.name, client, clock);
    this.#specs = new ClaimSpecs(driver, cdiDirectory);
    // Across all instances on the node.
    const exclusively = createSerial(lock, clock);
    const directly: Run = (work) => work();
    this.#callDriver = serialize ? exclusively : directly;
    this.#reserve = serialize ? directly : exclusively;
  }

  get unpreparedAt(): number | undefined {
    return this.#unpreparedAt;
  }

  prepare(ref: ClaimRef, signal: AbortSignal): Promise<AnsweredDevice[]> {
    return this.#byClaim(ref.uid, async () => {
      const claim = await this.#fetcher.fetch(ref, signal);
      return claim.devices.length === 0 ? [] : this.#callDriver(() => this.#prepare(claim, signal));
    });
  }

  async unprepare(ref: ClaimRef): Promise<void> {
    const { checkpoints, metadata, clock } = this.#options;
    this.#unpreparedAt = clock.now();
    this.#fetcher.cancel(ref.uid);
    try {
      await this.#byClaim(ref.uid, () =>
        this.#callDriver(async () => {
          this.#atStep("unprepare-begun");
          const known = await checkpoints.read(ref.uid);
          if (known !== undefined) return this.#undo(known);
          await this.#specs.remove(ref.uid);
          await metadata?.remove(ref);
        }),
      );
    } finally {
      this.#unpreparedAt = clock.now();
    }
  }

  async removeVanished(): Promise<void> {
    const { checkpoints } = this.#options;
    const gone = new Set<string>();
    for (const checkpoint of await checkpoints.all()) {
      if (!(await this.#fetcher.hasVanished(checkpoint))) continue;
      gone.add(checkpoint.uid);
      if (this.#missing.has(checkpoint.uid)) await this.#removeVanished(checkpoint);
    }
    this.#missing.clear();
    for (const uid of gone) this.#missing.add(uid);
  }

  async prepared(): Promise<number> {
    return (await this.#options.checkpoints.all()).length;
  }

  async preparedDevices(): Promise<{ readonly claims: number; readonly devices: number }> {
    const all = await this.#options.checkpoints.all();
    return { claims: all.length, devices: all.reduce((sum, { devices }) => sum + devices.length, 0) };
  }

  async #prepare(claim: AllocatedClaim, signal: AbortSignal): Promise<AnsweredDevice[]> {
    // A caller that has given up may unprepare next, and would miss devices that are prepared from now on.
    if (signal.aborted) throw new Error("the caller has gone");
    const { driver, checkpoints, bootID, log } = this.#options;
    this.#atStep("prepare-begun");
    const known = await checkpoints.read(claim.uid);
    if (known !== undefined && !sameDevices(known.devices, claim.devices)) {
      // Deallocated and allocated anew, and the unprepare between never arrived.
      await this.#undo(known);
    } else if (known?.state === "Completed" && known.bootID === bootID) {
      // Files are written even if they should be there: the folder may have been emptied.
      return this.#answer(claim, known.prepared);
    }
    const { uid, namespace, name, devices } = claim;
    const checkpoint = { version: 1, uid, namespace, name, devices, bootID } as const;
    // Before anything is written: a refused claim leaves nothing to undo.
    const { parameters } = driver;
    const decoded = parameters === undefined ? claim : await decodeParameters(claim, parameters);
    await this.#reserve(async () => {
      await this.#refuseInUse(claim);
      await checkpoints.write({ ...checkpoint, state: "Started" });
    });
    this.#atStep("prepare-recorded");
    const prepared = checkedEdits(claim, await driver.prepare(decoded, signal));
    this.#atStep("prepare-called");
    const answered = await this.#answer(claim, prepared);
    this.#atStep("prepare-written");
    await checkpoints.write({ ...checkpoint, state: "Completed", prepared });
    this.#atStep("prepare-completed");
    log.info({}, `Returning newly prepared devices for claim '${uid}': [${answered.map(shown).join(" ")}]`);
    return answered;
  }

  /**
   * A device whose pod was force-deleted can be allocated again while the old container still runs; it is
   * free when the kubelet has unprepared it. Only admin access and shares go together.
   */
  async #refuseInUse(claim: AllocatedClaim): Promise<void> {
    const wanted = claim.devices.filter(isExclusive);
    if (wanted.length === 0) return;
    for (const other of await this.#options.checkpoints.all()) {
      if (other.uid === claim.uid) continue;
      for (const { result } of other.devices.filter(isExclusive)) {
        if (wanted.some((one) => one.result.pool === result.pool && one.result.device === result.device)) {
          throw new Error(
            `device ${result.pool}/${result.device} is still prepared for claim ${other.namespace}/${other.name} (UID ${other.uid})`,
          );
        }
      }
    }
  }

  /** Writes the files that the response names, and returns the response. */
  async #answer(claim: AllocatedClaim, prepared: readonly PreparedDevice[]): Promise<AnsweredDevice[]> {
    const { uid } = claim;
    await this.#specs.write(uid, prepared);
    const described = new Map(await this.#options.metadata?.write(claim, prepared));
    const names = this.#specs.devices(uid, prepared);
    return prepared.map(({ device }, i) => {
      const request = baseRequest(device.result.request);
      // With the first device of each request: containers get it once.
      const description = described.get(request);
      described.delete(request);
      return {
        requestNames: [request],
        poolName: device.result.pool,
        deviceName: device.result.device,
        cdiDeviceIds: [...names[i]!, ...(description === undefined ? [] : [description])],
        ...(device.result.shareID === undefined ? {} : { shareId: device.result.shareID }),
      };
    });
  }

  async #undo(checkpoint: Checkpoint): Promise<void> {
    const { driver, checkpoints, metadata } = this.#options;
    await driver.unprepare(checkpoint);
    this.#atStep("unprepare-called");
    await this.#specs.remove(checkpoint.uid);
    await metadata?.remove(checkpoint);
    this.#atStep("unprepare-removed");
    await checkpoints.remove(checkpoint.uid);
    this.#atStep("unprepare-completed");
  }

  #removeVanished({ uid, namespace, name }: Checkpoint): Promise<void> {
    const { checkpoints, log } = this.#options;
    return this.#byClaim(uid, () =>
      this.#callDriver(async () => {
        // The kubelet may have unprepared it meanwhile.
        const known = await checkpoints.read(uid);
        if (known === undefined) return;
        log.warn({ claim: `${namespace}/${name}`, uid }, "Unpreparing a claim that no longer exists");
        await this.#undo(known);
      }),
    );
  }
}

function isExclusive({ result }: AllocatedDevice): boolean {
  return result.adminAccess !== true && result.shareID === undefined;
}

function shown(device: AnsweredDevice): string {
  const { requestNames, poolName, deviceName, cdiDeviceIds } = device;
  return `{[${requestNames.join(" ")}] ${poolName} ${deviceName} [${cdiDeviceIds.join(" ")}]}`;
}
