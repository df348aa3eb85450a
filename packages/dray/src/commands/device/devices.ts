import { ConfigMap } from "@dray/api/core/v1";
import { type Device, ResourceSlice } from "@dray/api/resource/v1";
import { type Client, listAll } from "@dray/client";
import { type HealthRecord, healthLabel, healthNamespace, readHealthConfigMap } from "@dray/driver-simulated";
import { UsageError } from "../../terminal/failure.ts";
import { didYouMean } from "../../text/similar.ts";

/** A device of a cluster, from its newest slice. */
export interface ListedDevice {
  /** null: a network device. */
  readonly node: string | null;
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  /** Unknown only if a person has set it: slices do not report it. */
  readonly health: "Healthy" | "Unhealthy" | "Unknown";
  readonly message: string | null;
  /** `key=value:effect` */
  readonly taints: readonly string[];
}

/** Returns all devices of a cluster, with the health that people have set. */
export async function listDevices(client: Client): Promise<ListedDevice[]> {
  const [slices, maps] = await Promise.all([
    listAll(client.resource(ResourceSlice), {}),
    listAll(client.resource(ConfigMap), { namespace: healthNamespace, labelSelector: healthLabel }),
  ]);
  const records = new Map(
    maps.items.flatMap((map) => {
      const record = readHealthConfigMap(map);
      return record === undefined ? [] : [[keyOf(record), record] as const];
    }),
  );
  return devicesOf(slices.items, records);
}

const keyOf = ({ driver, pool, device }: Pick<HealthRecord, "driver" | "pool" | "device">): string =>
  JSON.stringify([driver, pool, device]);

/** Only slices of the newest generation of a pool count (KEP-4381, ResourceSliceSpec.pool). */
export function devicesOf(
  slices: readonly ResourceSlice[],
  records: ReadonlyMap<string, HealthRecord>,
): ListedDevice[] {
  const newest = new Map<string, number>();
  const poolKey = ({ spec }: ResourceSlice): string => JSON.stringify([spec.driver, spec.pool.name]);
  for (const slice of slices) {
    const generation = Number(slice.spec.pool.generation);
    newest.set(poolKey(slice), Math.max(generation, newest.get(poolKey(slice)) ?? 0));
  }
  // Nodes by name, then the network; within a pool the order of the slices.
  const keyOfSlice = ({ metadata, spec }: ResourceSlice): readonly string[] => [
    spec.nodeName === undefined ? "1" : `0${spec.nodeName}`,
    spec.driver,
    spec.pool.name,
    metadata.name,
  ];
  return slices
    .filter((slice) => Number(slice.spec.pool.generation) === newest.get(poolKey(slice)))
    .sort((a, b) => compare(keyOfSlice(a), keyOfSlice(b)))
    .flatMap(({ spec }) =>
      (spec.devices ?? []).map((device): ListedDevice => {
        const { driver, nodeName } = spec;
        const ref = { driver, pool: spec.pool.name, device: device.name };
        const taints = taintTexts(device);
        const record = records.get(keyOf(ref));
        // A fleet may use another taint.
        const unhealthy =
          taints.some((taint) => taint.startsWith(`${driver}/unhealthy`)) ||
          (record?.health === "Unhealthy" && taints.length > 0);
        const health = unhealthy ? "Unhealthy" : record?.health === "Unknown" ? "Unknown" : "Healthy";
        const message = record?.health === health ? record.message : undefined;
        return {
          node: nodeName ?? device.nodeName ?? null,
          ...ref,
          health,
          message: message ?? null,
          taints,
        };
      }),
    );
}

function compare(a: readonly string[], b: readonly string[]): number {
  const place = a.findIndex((part, i) => part !== b[i]);
  return place < 0 ? 0 : a[place]!.localeCompare(b[place]!, "en", { numeric: true });
}

function taintTexts({ taints = [] }: Device): string[] {
  return taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`);
}

/** Returns the names of a device, shortest first; the last one is complete. */
export function namesOf({ node, driver, pool, device }: ListedDevice): string[] {
  if (node === null) return [`${pool}/${device}`, `${driver}/${device}`, `${driver}/${pool}/${device}`];
  return [
    `${node}/${device}`,
    `${node}/${driver}/${device}`,
    `${node}/${pool}/${device}`,
    `${node}/${driver}/${pool}/${device}`,
  ];
}

/**
 * Finds the device that `NODE/[DRIVER/][POOL/]DEVICE` names. Throws a UsageError if it does not exist or is
 * ambiguous.
 */
export function findDevice(devices: readonly ListedDevice[], text: string): ListedDevice {
  const found = devices.filter((device) => namesOf(device).includes(text));
  const [one] = found;
  if (one !== undefined && found.length === 1) return one;
  if (one !== undefined) {
    const all = found.map((device) => namesOf(device).at(-1));
    throw new UsageError(`${text} names ${found.length} devices: ${all.join(", ")}`);
  }
  const hint = didYouMean(text, new Set(devices.flatMap(namesOf)));
  const accepted =
    "must be NODE/DEVICE, NODE/DRIVER/POOL/DEVICE, or DRIVER/POOL/DEVICE for a device of the network";
  throw new UsageError(
    `there is no device ${text}: ${hint ?? `${accepted}; \`dray device list\` prints all ${devices.length}`}`,
  );
}
