import { ruleTaints } from "@dray/allocator";
import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { createdPodClaims } from "@dray/api/pod";
import type {
  Device,
  DeviceRequestAllocationResult,
  DeviceTaint,
  ResourceClaim,
  ResourceSlice,
} from "@dray/api/resource/v1";
import { nameOf } from "../manifests/place.ts";
import { checkPools } from "../manifests/pools.ts";
import type { World } from "../manifests/world.ts";

/** A claim that has a device, or a share of it. */
export interface Holder {
  /** `namespace/name` */
  readonly claim: string;
  /** `request`, or `request/subrequest` for an alternative. */
  readonly request: string;
  /** It takes no device (KEP-5018). */
  readonly adminAccess: boolean;
  /** Absent: it has the whole device. */
  readonly shareID?: string;
  readonly consumedCapacity?: Readonly<Record<string, string>>;
  /** The pods that the claim is reserved for, `namespace/name`. */
  readonly pods: readonly string[];
}

export interface TaintOfDevice extends DeviceTaint {
  /** The DeviceTaintRule that sets it; absent: it is in the slice. */
  readonly rule?: string;
}

export interface DeviceHealth {
  readonly health: string;
  readonly message?: string;
}

/** A device of the newest generation of its pool, with all data of the API about it. */
export interface KnownDevice {
  /** `driver/pool/device` */
  readonly id: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: Device;
  readonly slice: ResourceSlice;
  /** The only node that can reach it; undefined: several can. */
  readonly node: string | undefined;
  readonly taints: readonly TaintOfDevice[];
  readonly holders: readonly Holder[];
  /** Health by the report of a kubelet or by a taint; undefined without either. */
  readonly health: DeviceHealth | undefined;
  /** Why the scheduler ignores its pool. */
  readonly poolProblem: string | undefined;
}

export const deviceId = (driver: string, pool: string, device: string): string =>
  `${driver}/${pool}/${device}`;

export const idOf = ({ driver, pool, device }: DeviceRequestAllocationResult): string =>
  deviceId(driver, pool, device);

export const resultsOf = (claim: ResourceClaim): readonly DeviceRequestAllocationResult[] =>
  claim.status?.allocation?.devices?.results ?? [];

/** Reports whether a taint repels requests that do not tolerate it (KEP-5055). */
export const isRepelling = ({ effect }: DeviceTaint): boolean =>
  effect === "NoSchedule" || effect === "NoExecute";

export const taintText = ({ key, value, effect }: DeviceTaint): string =>
  `${key}${value ? `=${value}` : ""}:${effect}`;

/** Returns all devices of a cluster, by node, driver, pool and the order of the slices. */
export function devicesOf(world: World, features: Features): KnownDevice[] {
  const slices = currentSlices(world);
  const problems = new Map(
    checkPools(world, features).map(({ slice: { object }, message }) => [poolOf(object), message]),
  );
  const holders = holdersOf(world);
  const health = healthOf(world);
  const rules = features.enabled("DRADeviceTaintRules")
    ? world.all("DeviceTaintRule").map(({ object }) => object)
    : [];
  return slices.flatMap((slice) => {
    const { driver, nodeName, pool } = slice.spec;
    return (slice.spec.devices ?? []).map((device): KnownDevice => {
      const id = deviceId(driver, pool.name, device.name);
      const named = { driver, pool: pool.name, device };
      const taints = [
        ...(device.taints ?? []),
        ...rules.flatMap((rule) =>
          ruleTaints(named, [rule]).map((taint) => ({ ...taint, rule: rule.metadata.name })),
        ),
      ];
      return {
        id,
        ...named,
        slice,
        node: nodeName ?? device.nodeName,
        taints,
        holders: holders.get(id) ?? [],
        health: health.get(id) ?? healthOfTaints(taints),
        poolProblem: problems.get(poolOf(slice)),
      };
    });
  });
}

const poolOf = ({ spec }: ResourceSlice): string => `${spec.driver}/${spec.pool.name}`;

/**
 * Returns the slices of the newest generation of each pool (KEP-4381, ResourceSliceSpec.pool), in a stable
 * order.
 */
export function currentSlices(world: World): ResourceSlice[] {
  const slices = world.all("ResourceSlice").map(({ object }) => object);
  const newest = new Map<string, number>();
  for (const slice of slices) {
    const generation = Number(slice.spec.pool.generation);
    newest.set(poolOf(slice), Math.max(generation, newest.get(poolOf(slice)) ?? 0));
  }
  const key = ({ metadata, spec }: ResourceSlice): string =>
    [
      spec.nodeName === undefined ? "1" : `0${spec.nodeName}`,
      `${spec.driver}/${spec.pool.name}`,
      metadata.name,
    ].join("\n");
  return slices
    .filter((slice) => Number(slice.spec.pool.generation) === newest.get(poolOf(slice)))
    .sort((a, b) => key(a).localeCompare(key(b), "en", { numeric: true }));
}

function holdersOf(world: World): Map<string, Holder[]> {
  const holders = new Map<string, Holder[]>();
  for (const { object: claim } of world.all("ResourceClaim")) {
    const pods = (claim.status?.reservedFor ?? [])
      .filter(({ resource }) => resource === "pods")
      .map(({ name }) => `${claim.metadata.namespace}/${name}`);
    for (const result of resultsOf(claim)) {
      const { request, adminAccess, shareID, consumedCapacity } = result;
      const id = idOf(result);
      const holder = {
        claim: nameOf(claim),
        request,
        adminAccess: adminAccess === true,
        ...(shareID !== undefined && { shareID }),
        ...(consumedCapacity !== undefined && { consumedCapacity }),
        pods,
      };
      holders.set(id, [...(holders.get(id) ?? []), holder]);
    }
  }
  return holders;
}

/** By the convention of drivers that taint a broken device: `DRIVER/unhealthy`. */
function healthOfTaints(taints: readonly DeviceTaint[]): DeviceHealth | undefined {
  return taints.some(({ key }) => key.endsWith("/unhealthy")) ? { health: "Unhealthy" } : undefined;
}

/**
 * Returns the reports of kubelets about the devices of running containers (KEP-4680,
 * allocatedResourcesStatus). The kubelet names a device by its CDI ID if there is one: then only a request
 * with one device identifies it.
 */
function healthOf(world: World): Map<string, DeviceHealth> {
  const found = new Map<string, DeviceHealth>();
  for (const { object: pod } of world.all("Pod")) {
    const statuses = statusesOf(pod);
    if (statuses.length === 0) continue;
    const claims = new Map(createdPodClaims(pod).map(({ entry, name }) => [entry?.name, name]));
    for (const { name, resources } of statuses) {
      const [, entry = "", request] = /^claim:([^/]+)(?:\/(.+))?$/.exec(name) ?? [];
      const claim = world.find("ResourceClaim", `${pod.metadata.namespace}/${claims.get(entry)}`);
      if (claim === undefined) continue;
      const ids = resultsOf(claim)
        .filter((result) => request === undefined || result.request.split("/")[0] === request)
        .map(idOf);
      for (const { resourceID, health = "Unknown", message } of resources ?? []) {
        const id = ids.includes(resourceID) ? resourceID : ids.length === 1 ? ids[0] : undefined;
        if (id !== undefined) found.set(id, { health, ...(message && { message }) });
      }
    }
  }
  return found;
}

function statusesOf({ status }: Pod) {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].flatMap(
    (container) => container.allocatedResourcesStatus ?? [],
  );
}
