import { dirname, join } from "node:path";
import { controllerOf, type Features, featuresOf } from "@dray/api";
import type { Container, Pod, ResourceStatus } from "@dray/api/core/v1";
import { type AllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { type Client, type Clock, type Log, systemClock } from "@dray/client";
import type { CallOptions } from "@dray/rpc";
import { RuntimeError } from "../runtime/service.ts";
import { shortened } from "../text.ts";
import type { PreparedDevice } from "./checkpoint.ts";
import { claimNames, claimsIfCreated, containerClaims, isForRequest } from "./claim-names.ts";
import { ClaimCache, type ClaimInfo } from "./claims.ts";
import { type DeviceName, HealthCache } from "./health.ts";
import { HealthWatch } from "./health-watch.ts";
import type { DraPlugins } from "./plugins.ts";
import { resourceStatuses } from "./resource-status.ts";
import { preparedDevices } from "./response.ts";

/** The deadline of a call to a driver (kubelet's dra/plugin). */
const callMilliseconds = 45_000;

/** A group of pods that may hold a claim in place of each of them (KEP-5729). */
const podGroups = { apiGroup: "scheduling.k8s.io", resource: "podgroups" } as const;

export interface DraManagerOptions {
  readonly client: Client;
  readonly plugins: DraPlugins;
  /** The file `dra_manager_state`; `dra_health_state` lies beside it. */
  readonly checkpoint: string;
  /** Those of the newest release if absent. */
  readonly features?: Features;
  readonly clock?: Clock;
  readonly log: Log;
  /** A claim has left the node: pods that waited for its name may go on. */
  released(): void;
  /** The health of devices that these pods use is another one: their statuses may have to change. */
  healthChanged?(podUIDs: readonly string[]): void;
}

/** A claim in use, with the devices that drivers have prepared for it. */
export interface DynamicResource {
  readonly claim: string;
  readonly namespace: string;
  readonly devices: readonly (PreparedDevice & { readonly driver: string })[];
}

/** A claim of a pod, found and allocated. */
interface UsableClaim {
  readonly claim: ResourceClaim;
  readonly allocation: AllocationResult;
  readonly drivers: readonly string[];
}

/**
 * Has drivers prepare claims before the containers of a pod start, and unprepare them after they have stopped
 * (KEP-4381; the order of steps is the kubelet's own, see its dra manager).
 */
export class DraManager {
  readonly #options: DraManagerOptions;
  readonly #cache: ClaimCache;
  readonly #features: Features;
  readonly #health: HealthCache;
  readonly #healthWatch: HealthWatch;

  /** Throws if the checkpoint is damaged. */
  constructor(options: DraManagerOptions) {
    const { plugins, checkpoint, features = featuresOf(), clock = systemClock, log } = options;
    this.#options = options;
    this.#features = features;
    this.#cache = new ClaimCache(checkpoint);
    this.#health = new HealthCache({
      path: join(dirname(checkpoint), "dra_health_state"),
      clock,
      log,
      changed: (driver, devices) => this.#healthChanged(driver, devices),
    });
    this.#healthWatch = new HealthWatch({ plugins, cache: this.#health, features, clock, log });
  }

  /** Ends the streams of drivers; resolves when what is known of health is saved. */
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
   * `allocatedResourcesStatus` of a container that is no init container: the health of its devices, as far as they are
   * prepared here. Empty while the gate ResourceHealthStatus is off.
   */
  allocatedResourcesStatus(pod: Pod, container: Container): readonly ResourceStatus[] {
    if (!this.#features.enabled("ResourceHealthStatus")) return [];
    return resourceStatuses(
      pod,
      container,
      this.#cache,
      (driver, device) => this.#health.get(driver, device),
      this.#features.enabled("ResourceHealthStatusMessage"),
    );
  }

  /** The pods that hold claims here, those of before a restart among them. */
  podUIDs(): ReadonlySet<string> {
    return new Set(this.#cache.all().flatMap(({ podUIDs }) => [...podUIDs]));
  }

  get claimsInUse(): number {
    return this.#cache.all().length;
  }

  /** Resolves when every claim of the pod is prepared; may be repeated. Rejects with what goes into the event. */
  async prepare(pod: Pod, signal?: AbortSignal): Promise<void> {
    const names = claimNames(pod);
    if (names.length === 0) return;
    const claims: UsableClaim[] = [];
    for (const { name, owned } of names) claims.push(await this.#validate(pod, name, owned));
    await this.#cache.locked(
      claims.map(({ claim }) => claim.metadata),
      () => this.#prepare(pod, claims, signal),
    );
  }

  /** Looks only: nothing is changed where a claim cannot be used. */
  async #validate(pod: Pod, name: string, owned: boolean): Promise<UsableClaim> {
    const { namespace, uid } = pod.metadata;
    let claim: ResourceClaim;
    try {
      claim = await this.#options.client.resource(ResourceClaim).get({ namespace, name });
    } catch (error) {
      throw new Error(
        `failed to fetch ResourceClaim ${name} referenced by pod ${pod.metadata.name}: ${(error as Error).message}`,
        { cause: error },
      );
    }
    if (owned) {
      const controller = controllerOf(claim);
      const ofGroup =
        controller?.kind === "PodGroup" &&
        controller.apiVersion.startsWith(`${podGroups.apiGroup}/`) &&
        controller.name === pod.spec.schedulingGroup?.podGroupName;
      if (controller?.kind === "Pod" && controller.uid !== uid)
        throw new Error(
          `ResourceClaim ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`,
        );
      if (controller?.kind !== "Pod" && !ofGroup)
        throw new Error(`ResourceClaim ${namespace}/${name} is not controlled by the pod or its pod group`);
    }
    const reserved = (claim.status?.reservedFor ?? []).some(
      ({ apiGroup = "", resource, name, uid: consumer }) =>
        consumer === uid ||
        (apiGroup === podGroups.apiGroup &&
          resource === podGroups.resource &&
          name === pod.spec.schedulingGroup?.podGroupName),
    );
    if (!reserved)
      throw new Error(
        `pod ${pod.metadata.name} (${uid}) is not allowed to use ResourceClaim ${name} (${claim.metadata.uid})`,
      );
    const { allocation } = claim.status ?? {};
    if (allocation === undefined) throw new Error(`ResourceClaim ${namespace}/${name} is not allocated`);
    const drivers = [...new Set((allocation.devices?.results ?? []).map(({ driver }) => driver))];
    for (const driver of drivers) this.#options.plugins.get(driver);
    return { claim, allocation, drivers };
  }

  async #prepare(pod: Pod, claims: readonly UsableClaim[], signal: AbortSignal | undefined): Promise<void> {
    const infos: ClaimInfo[] = [];
    const outdated: ClaimInfo[] = [];
    for (const { claim, allocation } of claims) {
      const { namespace, name, uid } = claim.metadata;
      const known = this.#cache.get(namespace, name);
      if (known !== undefined && known.uid !== uid)
        throw new Error(
          `old ResourceClaim with same name ${name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`,
        );
      if (known === undefined || !isOutdated(known, allocation)) continue;
      // A pod that was force-deleted may still run with the earlier devices.
      if ([...known.podUIDs].some((other) => other !== pod.metadata.uid))
        throw new Error(`claim ${namespace}/${name} is still prepared for an earlier allocation`);
      outdated.push(known);
    }
    if (outdated.length > 0) await this.#unprepare(outdated, signal);
    for (const { claim, allocation, drivers } of claims) {
      const { namespace, name, uid } = claim.metadata;
      const info = this.#cache.get(namespace, name) ?? {
        uid,
        name,
        namespace,
        podUIDs: new Set<string>(),
        devices: new Map(drivers.map((driver) => [driver, null])),
        prepared: false,
      };
      info.podUIDs.add(pod.metadata.uid);
      info.allocated = deviceKeys(allocation);
      this.#cache.add(info);
      infos.push(info);
    }
    // Before any driver does anything: whoever comes back after a crash must know what to undo.
    this.#cache.save();
    const unprepared = infos.filter(({ prepared }) => !prepared);
    if (unprepared.length === 0) return;
    const drivers = new Set(unprepared.flatMap(({ devices }) => [...devices.keys()]));
    try {
      for (const driver of drivers)
        await this.#prepareDriver(
          driver,
          unprepared.filter(({ devices }) => devices.has(driver)),
          signal,
        );
      for (const info of unprepared) info.prepared = true;
    } finally {
      this.#cache.save();
    }
  }

  async #prepareDriver(
    driver: string,
    infos: readonly ClaimInfo[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { caller } = this.#options.plugins.get(driver);
    const response = await caller
      .nodePrepareResources({ claims: infos.map(claimMessage) }, callOptions(signal))
      .catch((error: Error) => {
        throw new Error(`NodePrepareResources failed: ${error.message}`, { cause: error });
      });
    for (const [uid, result] of Object.entries(response.claims)) {
      const info = infos.find((one) => one.uid === uid);
      if (info === undefined)
        throw new Error(
          `NodePrepareResources returned a result for ResourceClaim UID ${shortened(uid, 100)}, which was not asked for`,
        );
      if (result.error !== "")
        throw new Error(
          `NodePrepareResources failed for ResourceClaim ${info.name}: ${shortened(result.error)}`,
        );
      // They take the place of earlier ones (kubernetes#140471).
      info.devices.set(driver, preparedDevices(info.name, result.devices));
    }
    const skipped = infos.filter(({ uid }) => response.claims[uid] === undefined).length;
    if (skipped > 0) throw new Error(`NodePrepareResources skipped ${skipped} ResourceClaims`);
  }

  /**
   * The CDI devices of a container: those of the claims, and requests of them, that it lists. Throws where they are not
   * known: a container without its devices must not start.
   */
  cdiDevices(pod: Pod, container: Container): string[] {
    const ids = new Set<string>();
    for (const { name, request } of containerClaims(pod, container)) {
      const info = this.#cache.get(pod.metadata.namespace, name);
      if (info === undefined) throw notPrepared(`unable to get information for ResourceClaim ${name}`);
      if (!info.podUIDs.has(pod.metadata.uid))
        throw notPrepared(`ResourceClaim ${name} (${info.uid}) is not prepared for this pod`);
      for (const [driver, devices] of info.devices) {
        if (devices === null)
          throw notPrepared(`ResourceClaim ${name} has not been prepared by driver ${driver}`);
        for (const { RequestNames, CDIDeviceIDs } of devices)
          if (isForRequest(RequestNames, request)) for (const id of CDIDeviceIDs ?? []) ids.add(id);
      }
    }
    return [...ids];
  }

  /**
   * The claims of a container with all their devices, whichever of them it gets; none while one of them is not prepared
   * here. Upstream: pkg/kubelet/cm/dra/manager.go, GetContainerClaimInfos.
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
   * Lets go of every claim of a pod; those that no other pod uses are unprepared. Reads nothing but the cache, so
   * it works for pods and claims that are gone. Rejects if a driver could not; may be repeated.
   */
  async unprepare(podUid: string, signal?: AbortSignal): Promise<void> {
    const claims = this.#cache.ofPod(podUid);
    if (claims.length === 0) return;
    await this.#cache.locked(claims, async () => {
      const held = claims.filter(
        (info) => this.#cache.get(info.namespace, info.name) === info && info.podUIDs.has(podUid),
      );
      const shared = held.filter(({ podUIDs }) => podUIDs.size > 1);
      for (const { podUIDs } of shared) podUIDs.delete(podUid);
      if (shared.length > 0) this.#cache.save();
      await this.#unprepare(
        held.filter((info) => !shared.includes(info)),
        signal,
      );
    });
    this.#options.released();
  }

  async #unprepare(infos: readonly ClaimInfo[], signal: AbortSignal | undefined): Promise<void> {
    const drivers = new Set(infos.flatMap(({ devices }) => [...devices.keys()]));
    const problems: string[] = [];
    const failed = new Set<ClaimInfo>();
    // From here on it may be half undone: a pod that comes in between must prepare it again.
    for (const info of infos) info.prepared = false;
    for (const driver of drivers) {
      const ours = infos.filter(({ devices }) => devices.has(driver));
      try {
        const { caller } = this.#options.plugins.get(driver);
        const { claims } = await caller.nodeUnprepareResources(
          { claims: ours.map(claimMessage) },
          callOptions(signal),
        );
        for (const info of ours) {
          const result = claims[info.uid];
          if (result !== undefined && result.error === "") continue;
          failed.add(info);
          problems.push(
            result === undefined
              ? `NodeUnprepareResources skipped ResourceClaim ${info.name}`
              : `NodeUnprepareResources failed for ResourceClaim ${info.name}: ${shortened(result.error)}`,
          );
        }
      } catch (error) {
        for (const info of ours) failed.add(info);
        problems.push(`NodeUnprepareResources failed: ${(error as Error).message}`);
      }
    }
    for (const info of infos) if (!failed.has(info)) this.#cache.delete(info);
    if (infos.length > failed.size) this.#cache.save();
    if (problems.length > 0) throw new Error(problems.join("; "));
  }
}

/** A call ends with its deadline, or when the agent stops: what it did not hear it asks again. */
function callOptions(signal: AbortSignal | undefined): CallOptions {
  return { timeout: callMilliseconds, ...(signal === undefined ? {} : { signal }) };
}

/** The devices of an allocation, each as one text, in order. */
function deviceKeys({ devices }: AllocationResult): readonly string[] {
  return (devices?.results ?? [])
    .map(({ driver, pool, device, shareID }) => [driver, pool, device, shareID ?? ""].join("\n"))
    .sort();
}

/**
 * Whether a claim was deallocated and allocated anew since it was prepared. Of one of before a restart only the
 * drivers' answers are known: they may leave devices and share IDs out, but name none that is not allocated.
 */
function isOutdated(info: ClaimInfo, allocation: AllocationResult): boolean {
  if (info.allocated !== undefined) return info.allocated.join() !== deviceKeys(allocation).join();
  const results = allocation.devices?.results ?? [];
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

function claimMessage({ namespace, uid, name }: ClaimInfo): { namespace: string; uid: string; name: string } {
  return { namespace, uid, name };
}
