import { StatusError } from "@dray/api";
import { ConfigMap, Namespace } from "@dray/api/core/v1";
import { ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import {
  type HealthRecord,
  healthConfigMap,
  healthNamespace,
  healthRecordName,
  readHealthConfigMap,
} from "@dray/driver-simulated";
import { devicesOf, type ListedDevice, namesOf } from "./devices.ts";

/** Milliseconds in which a simulated driver applies a change of health. */
const uptakeTimeout = 10_000;

/**
 * Sets the health of a device and waits until its driver has changed its slice. Reverts and rejects after the
 * timeout: only simulated drivers react.
 */
export async function setHealth(client: Client, device: ListedDevice, record: HealthRecord): Promise<void> {
  const stop = new AbortController();
  const slices = client.informer(ResourceSlice, { fieldSelector: `spec.driver=${device.driver}` });
  const now = (): ListedDevice | undefined =>
    devicesOf(slices.list(), new Map()).find(
      (one) => one.pool === device.pool && one.device === device.device,
    );
  try {
    await slices.start(stop.signal);
    const before = now()?.taints.join();
    const former = await read(client, record);
    await write(client, record);
    const same = former?.health === record.health && former.effect === record.effect;
    const isHealthyAlready = record.health !== "Unhealthy" && before === "";
    if (same || isHealthyAlready) return;
    const changed = slices.until(() => now()?.taints.join() !== before).then(() => true);
    if (await Promise.race([changed, timeout(stop.signal)])) return;
    // Unhealthy by its fleet file: the slice does not change.
    if (record.health === "Unhealthy" && before?.includes("/unhealthy")) return;
    await restore(client, record, former);
    throw new Error(
      `no driver has taken it up within ${uptakeTimeout / 1000} s, and ${namesOf(device).at(-1)} is as before: only simulated drivers listen (dray up --fleet, dray driver simulate)`,
    );
  } finally {
    stop.abort();
  }
}

function timeout(signal: AbortSignal): Promise<false> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), uptakeTimeout);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  });
}

async function read(client: Client, record: HealthRecord): Promise<HealthRecord | undefined> {
  try {
    const ref = { namespace: healthNamespace, name: healthRecordName(record) };
    return readHealthConfigMap(await client.resource(ConfigMap).get(ref));
  } catch (error) {
    if (StatusError.is(error, "NotFound")) return undefined;
    throw error;
  }
}

async function write(client: Client, record: HealthRecord): Promise<void> {
  const maps = client.resource(ConfigMap);
  const options = { fieldManager: "dray-device", force: true };
  try {
    await maps.apply(healthConfigMap(record), options);
  } catch (error) {
    if (!StatusError.is(error, "NotFound")) throw error;
    await client.resource(Namespace).apply({ metadata: { name: healthNamespace } }, options);
    await maps.apply(healthConfigMap(record), options);
  }
}

async function restore(
  client: Client,
  record: HealthRecord,
  former: HealthRecord | undefined,
): Promise<void> {
  if (former !== undefined) return write(client, former);
  const ref = { namespace: healthNamespace, name: healthRecordName(record) };
  await client.resource(ConfigMap).delete(ref);
}
