import { dirname, join } from "node:path";
import { type Features, featuresOf } from "@dray/api";
import type { Container, Pod, ResourceStatus } from "@dray/api/core/v1";
import type { AllocationResult } from "@dray/api/resource/v1";
import type { Client, Clock, Log } from "@dray/client";
import { RuntimeError } from "../runtime/error.ts";
import type { PreparedDevice } from "./checkpoint.ts";
import { type ClaimName, claimNames, claimsIfCreated, containerClaims, isForRequest } from "./claim-names.ts";
import { ClaimCache, type ClaimInfo } from "./claims.ts";
import { DriverCalls } from "./driver-calls.ts";
import { type DeviceName, HealthCache } from "./health.ts";
import { HealthWatch } from "./health-watch.ts";
import { DraMetrics } from "./metrics.ts";
import type { DraPlugins } from "./plugins.ts";
import { resourceStatuses } from "./resource-status.ts";
import { skips } from "./skipped-operations.ts";
import { type UsableClaim, usableClaim } from "./usable-claim.ts";

/** Points between two steps at which a crash leaves a distinct state on disk and in drivers. */
export const faultPoints = [
  "prepare: validated",
  "prepare: pod added",
  "prepare: pod saved",
  "prepare: before call",
  "prepare: after call",
  "prepare: devices saved",
  "unprepare: pod removed",
  "unprepare: pod saved",
  "unprepare: before call",
  "unprepare: after call",
  "unprepare: claim removed",
  "unprepare: claim saved",
] as const;
export type FaultPoint = (typeof faultPoints)[number];

export interface DraManagerOptions {
  readonly client: Client;
  readonly plugins: DraPlugins;
  /** Path of `dra_manager_state`; `dra_health_state` lies beside it. */
  readonly checkpoint: string;
  /** Features of the newest release by default. */
  readonly features?: Features;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a claim has left the node: pods that waited for its name may continue. */
  released(): void;
  /** Called when the health of devices of these pods has changed: their statuses may change. */
  healthChanged?(podUIDs: readonly string[]): void;
  /** For tests that stop the agent between two steps. */
  readonly at?: (point: FaultPoint) => void | Promise<void>;
}

/** A claim in use, with its prepared devices. */
export interface DynamicResource {
  readonly claim: string;
  readonly namespace: string;
  readonly devices: readonly (PreparedDevice & { readonly driver: string })[];
}

/**
 * Prepares claims before the containers of a pod start, and unprepares them after they have stopped
 * (KEP-4381).
 *
 * Upstream: pkg/kubelet/cm/dra/manager.go.
 */
export class DraManager {
  readonly #options: DraManagerOptions;
  readonly #cache: ClaimCache;
  readonly #features: Features;
  readonly #clock: Clock;
  readonly #metrics = new DraMetrics();
  readonly #calls: DriverCalls;
  readonly #health: HealthCache;
  readonly #healthWatch: HealthWatch;

  /** Throws if the checkpoint is damaged. */
  constructor(options: DraManagerOptions) {
    const { plugins, checkpoint, features = featuresOf(), clock, log } = options;
    this.#options = options;
    this.#features = features;
    this.#clock = clock;
    this.#calls = new DriverCalls({ plugins, metrics: this.#metrics, clock });
    this.#cache = new ClaimCache(checkpoint);
    this.#health = new HealthCache({
      path: join(dirname(checkpoint), "dra_health_state"),
      clock,
      log,
      changed: (driver, devices) => this.#healthChanged(driver, devices),
    });
    this.#healthWatch = new HealthWatch({ plugins, cache: this.#health, features, clock, log });
  }

  /** Ends the streams of drivers. Resolves when the health of devices is saved. */
  async close(): Promise<void> {
    this.#healthWatch.close();
    await this.#health.close();
  }

  #healthChanged(driver: string, changed: readonly DeviceName[]): void {
    const names = new Set(changed.map(({ pool, device }) => `${pool}/${device}`));
    const uses = ({ devices }: ClaimInfo): boolean =>
      (devices.get(driver) ?? []).some(({ PoolName, DeviceName }) => names.has(`${PoolName}/${DeviceName}`));
    const pods = new Set(
      this.#cache
        .all()
        .filter(uses)
        .flatMap(({ podUIDs }) => [...podUIDs]),
    );
    if (pods.size > 0) this.#options.healthChanged?.([...pods]);
  }

  /**
   * `allocatedResourcesStatus` of a container that is not an init container: the health of its devices that
   * are prepared here. Empty without the gate ResourceHealthStatus.
   */
  allocatedResourcesStatus(pod: Pod, container: Container): readonly ResourceStatus[] {
    if (!this.#features.enabled("ResourceHealthStatus")) return [];
    const withMessages = this.#features.enabled("ResourceHealthStatusMessage");
    return resourceStatuses(pod, container, this.#cache, (driver, device) => {
      const health = this.#health.get(driver, device);
      return withMessages ? health : { ...health, message: "" };
    });
  }

  /** Metrics of claims and drivers in the text format of Prometheus. */
  metrics(): string {
    const inUse = this.#cache.all().filter(({ prepared }) => prepared);
    return this.#metrics.text(inUse.map(({ devices }) => [...devices.keys()]));
  }

  /** Pods that hold claims here, including those from the checkpoint. */
  podUIDs(): ReadonlySet<string> {
    return new Set(this.#cache.all().flatMap(({ podUIDs }) => [...podUIDs]));
  }

  /**
   * Resolves when every claim of the pod is prepared; may be repeated. Rejects with the message of the event.
   */
  async prepare(pod: Pod, signal?: AbortSignal): Promise<void> {
    const names = claimNames(pod);
    if (names.length === 0) return;
    await this.#measured("PrepareResources", async () => {
      const claims: UsableClaim[] = [];
      for (const name of names) claims.push(await this.#usable(pod, name));
      await this.#at("prepare: validated");
      await this.#cache.locked(
        claims.map(({ claim }) => claim.metadata),
        () => this.#prepare(pod, claims, signal),
      );
    });
  }

  /** Checks a claim without changing anything. */
  async #usable(pod: Pod, name: ClaimName): Promise<UsableClaim> {
    const { client, plugins } = this.#options;
    const usable = await usableClaim(client, this.#features, pod, name);
    // Also for prepared claims: a missing driver means that something is wrong with the node.
    for (const [driver, operations] of usable.drivers)
      if (!skips(operations, "NodePrepareResources")) plugins.get(driver);
    return usable;
  }

  async #prepare(pod: Pod, claims: readonly UsableClaim[], signal: AbortSignal | undefined): Promise<void> {
    const outdated: ClaimInfo[] = [];
    for (const { claim, allocation } of claims) {
      const { namespace, name, uid } = claim.metadata;
      const known = this.#cache.get(namespace, name);
      if (known !== undefined && known.uid !== uid)
        throw new Error(
          `old ResourceClaim with same name ${name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`,
        );
      if (known === undefined || !isOutdated(known, allocation)) continue;
      // A force-deleted pod may still run with the earlier devices.
      if ([...known.podUIDs].some((other) => other !== pod.metadata.uid))
        throw new Error(`claim ${namespace}/${name} is still prepared for an earlier allocation`);
      outdated.push(known);
    }
    if (outdated.length > 0) await this.#unprepare(outdated, signal);
    const infos = new Set<ClaimInfo>();
    for (const { claim, allocation, drivers } of claims) {
      const { namespace, name, uid } = claim.metadata;
      const info = this.#cache.get(namespace, name) ?? {
        uid,
        name,
        namespace,
        podUIDs: new Set<string>(),
        devices: new Map([...drivers.keys()].map((driver) => [driver, null])),
        skips: drivers,
        prepared: false,
      };
      info.podUIDs.add(pod.metadata.uid);
      info.allocated = deviceKeys(allocation);
      this.#cache.add(info);
      infos.add(info);
    }
    await this.#at("prepare: pod added");
    // Before any driver is called: the agent must know after a crash what to undo.
    this.#cache.save();
    await this.#at("prepare: pod saved");
    const unprepared = [...infos].filter(({ prepared }) => !prepared);
    if (unprepared.length === 0) return;
    try {
      for (const [driver, ours] of this.#batches(unprepared, "NodePrepareResources")) {
        await this.#at("prepare: before call");
        await this.#calls.prepare(driver, ours, signal, (info, devices) => {
          // They replace earlier ones (kubernetes#140471).
          info.devices.set(driver, devices);
        });
        await this.#at("prepare: after call");
      }
      for (const info of unprepared) info.prepared = true;
    } finally {
      this.#cache.save();
    }
    await this.#at("prepare: devices saved");
  }

  /** Groups claims by the drivers that have to be called. */
  #batches(
    infos: readonly ClaimInfo[],
    operation: "NodePrepareResources" | "NodeUnprepareResources",
  ): ReadonlyMap<string, readonly ClaimInfo[]> {
    const batches = new Map<string, ClaimInfo[]>();
    for (const info of infos)
      for (const driver of info.devices.keys()) {
        if (skips(info.skips.get(driver), operation))
          this.#metrics.skip(operation === "NodePrepareResources" ? "prepare" : "unprepare", driver);
        else batches.set(driver, [...(batches.get(driver) ?? []), info]);
      }
    return batches;
  }

  async #measured(name: "PrepareResources" | "UnprepareResources", work: () => Promise<void>): Promise<void> {
    const begun = this.#clock.now();
    let failed = true;
    try {
      await work();
      failed = false;
    } finally {
      this.#metrics.operation(name, failed, this.#clock.now() - begun);
    }
  }

  /** Calls the hook of tests that stop the agent here. */
  #at(point: FaultPoint): void | Promise<void> {
    return this.#options.at?.(point);
  }

  /**
   * CDI devices of a container: those of its claims, and of its requests of them. Throws if they are unknown,
   * since a container must not start without its devices.
   */
  cdiDevices(pod: Pod, container: Container): string[] {
    const ids = new Set<string>();
    for (const { name, request } of containerClaims(pod, container)) {
      const info = this.#cache.get(pod.metadata.namespace, name);
      if (info === undefined) throw notPrepared(`unable to get information for ResourceClaim ${name}`);
      if (!info.podUIDs.has(pod.metadata.uid))
        throw notPrepared(`ResourceClaim ${name} (${info.uid}) is not prepared for this pod`);
      for (const [driver, devices] of info.devices) {
        if (devices === null && !skips(info.skips.get(driver), "NodePrepareResources"))
          throw notPrepared(`ResourceClaim ${name} has not been prepared by driver ${driver}`);
        for (const { RequestNames, CDIDeviceIDs } of devices ?? [])
          if (isForRequest(RequestNames, request)) for (const id of CDIDeviceIDs ?? []) ids.add(id);
      }
    }
    return [...ids];
  }

  /**
   * The claims of a container with all their devices, whichever of them it gets; empty while one of them is
   * not prepared here.
   *
   * Upstream: pkg/kubelet/cm/dra/manager.go, GetContainerClaimInfos.
   */
  dynamicResources(pod: Pod, container: Container): readonly DynamicResource[] {
    const { namespace, uid } = pod.metadata;
    const names = new Set(claimsIfCreated(pod, container).map(({ name }) => name));
    const infos = [...names].map((name) => this.#cache.get(namespace, name));
    if (!infos.every((info) => info?.podUIDs.has(uid))) return [];
    return infos.flatMap((info) =>
      info === undefined
        ? []
        : [
            {
              claim: info.name,
              namespace: info.namespace,
              devices: [...info.devices].flatMap(([driver, devices]) =>
                (devices ?? []).map((device) => ({ ...device, driver })),
              ),
            },
          ],
    );
  }

  /**
   * Releases every claim of a pod, and unprepares those that no other pod uses. Reads only the cache, so that
   * it works for pods and claims that are gone. Rejects with an UnprepareError that names the drivers that
   * failed; may be repeated.
   */
  async unprepare(podUid: string, signal?: AbortSignal): Promise<void> {
    const claims = this.#cache.ofPod(podUid);
    if (claims.length === 0) return;
    await this.#measured("UnprepareResources", () =>
      this.#cache.locked(claims, async () => {
        const held = claims.filter(
          (info) => this.#cache.get(info.namespace, info.name) === info && info.podUIDs.has(podUid),
        );
        const shared = held.filter(({ podUIDs }) => podUIDs.size > 1);
        for (const { podUIDs } of shared) podUIDs.delete(podUid);
        await this.#at("unprepare: pod removed");
        if (shared.length > 0) this.#cache.save();
        await this.#at("unprepare: pod saved");
        await this.#unprepare(
          held.filter((info) => !shared.includes(info)),
          signal,
        );
      }),
    );
    this.#options.released();
  }

  async #unprepare(infos: readonly ClaimInfo[], signal: AbortSignal | undefined): Promise<void> {
    const failures = new Map<ClaimInfo, string>();
    const waitsFor: string[] = [];
    // From here on it may be undone in part: a pod that starts in between must prepare it again.
    for (const info of infos) info.prepared = false;
    for (const [driver, ours] of this.#batches(infos, "NodeUnprepareResources")) {
      await this.#at("unprepare: before call");
      const failed = await this.#calls.unprepare(driver, ours, signal);
      if (failed.size > 0) waitsFor.push(driver);
      for (const [info, problem] of failed)
        failures.set(info, failures.has(info) ? `${failures.get(info)}; ${problem}` : problem);
      await this.#at("unprepare: after call");
    }
    for (const info of infos) if (!failures.has(info)) this.#cache.delete(info);
    await this.#at("unprepare: claim removed");
    if (infos.length > failures.size) this.#cache.save();
    await this.#at("unprepare: claim saved");
    if (failures.size > 0) throw new UnprepareError([...new Set(failures.values())].join("; "), waitsFor);
  }
}

/** Claims are still prepared; names the drivers that are waited for. */
export class UnprepareError extends Error {
  override readonly name = "UnprepareError";
  readonly drivers: readonly string[];

  constructor(message: string, drivers: readonly string[]) {
    super(message);
    this.drivers = drivers;
  }
}

/** Devices of an allocation, each as one text, in order. */
function deviceKeys({ devices }: AllocationResult): readonly string[] {
  return (devices?.results ?? [])
    .map(({ driver, pool, device, shareID }) => [driver, pool, device, shareID ?? ""].join("\n"))
    .sort();
}

/**
 * Reports whether a claim was deallocated and allocated anew since it was prepared. Only drivers and devices
 * of a claim from before a restart are known: they may omit devices and share IDs, but name no device that is
 * not allocated.
 */
function isOutdated(info: ClaimInfo, allocation: AllocationResult): boolean {
  if (info.allocated !== undefined) return info.allocated.join() !== deviceKeys(allocation).join();
  const results = allocation.devices?.results ?? [];
  const drivers = new Set(results.map(({ driver }) => driver));
  if (drivers.size !== info.devices.size || ![...drivers].every((driver) => info.devices.has(driver)))
    return true;
  return [...info.devices].some(([driver, devices]) =>
    (devices ?? []).some(
      ({ PoolName, DeviceName, ShareID }) =>
        !results.some(
          (result) =>
            result.driver === driver &&
            result.pool === PoolName &&
            result.device === DeviceName &&
            (ShareID === undefined || result.shareID === ShareID),
        ),
    ),
  );
}

function notPrepared(message: string): RuntimeError {
  return new RuntimeError("CreateContainerConfigError", message);
}
