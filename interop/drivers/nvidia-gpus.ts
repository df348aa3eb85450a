import assert from "node:assert/strict";
import { Pod } from "@dray/api/core/v1";
import { type Device, ResourceClaim, ResourceClaimTemplate, ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { driverVersion, type NvidiaMachine } from "./nvidia-machine.ts";
import { deletePod, logOf, namespace, outputOf, runOnce, unschedulable } from "./pods.ts";

/** Name of NVIDIA's DRA driver for GPUs, and of its class. */
export const gpuDriver = "gpu.nvidia.com";
/** Xid 79, "GPU has fallen off the bus". */
const fallenOff = 79;

export interface GpuNode {
  readonly client: Client;
  readonly machine: NvidiaMachine;
  /** Image of the pods that get GPUs. */
  readonly image: string;
  /** Returns the names of the files in the node's folder of CDI specs. */
  cdiFiles(): Promise<readonly string[]>;
  /** Further commands of a pod that has GPUs, and what they print. */
  readonly further?: { readonly script: string; readonly output: readonly string[] };
}

/**
 * Checks what NVIDIA's driver does on a node where it starts: the GPUs that it publishes, claims prepared and
 * unprepared, `nvidia.com/gpu` by DRA, and an Xid error. Calls `prepared` while a pod has a claim.
 */
export async function checkGpus(
  { client, machine, image, cdiFiles, further = { script: "", output: [] } }: GpuNode,
  prepared: (claim: ResourceClaim) => Promise<void> = async () => {},
): Promise<void> {
  const count = machine.gpus.length;
  const devices = await eventually(
    "the GPUs are published",
    async () => {
      const found = await published(client);
      return found.length === count && found.toSorted((a, b) => a.name.localeCompare(b.name));
    },
    60_000,
  );
  assert.deepEqual(
    devices.map(({ name, attributes }) => [name, attributes?.["uuid"]?.string]),
    machine.gpus.map((uuid, minor) => [`gpu-${minor}`, uuid]),
  );
  const { attributes = {}, capacity = {} } = devices[0] ?? {};
  assert.equal(attributes["productName"]?.string, "NVIDIA H100 80GB HBM3");
  assert.equal(attributes["architecture"]?.string, "Hopper");
  assert.equal(attributes["driverVersion"]?.version, driverVersion.replace(/\.0*/g, "."));
  assert.equal(capacity["memory"]?.value, "81559Mi");

  await client.resource(ResourceClaimTemplate).create({
    metadata: { name: "two-gpus", namespace },
    spec: {
      spec: { devices: { requests: [{ name: "gpus", exactly: { deviceClassName: gpuDriver, count: 2 } }] } },
    },
  });
  // Runs until it is deleted, so that the claim is still there to be looked at.
  const script = [
    "ls /dev | grep '^nvidia[0-9]'",
    "ls /usr/bin/nvidia-smi",
    ...(further.script === "" ? [] : [further.script]),
    "echo that is all",
    "exec sleep 1000",
  ].join("; ");
  await runOnce(
    client,
    "user",
    { image, command: ["sh", "-c", script], resources: { claims: [{ name: "gpus" }] } },
    { resourceClaims: [{ name: "gpus", resourceClaimTemplateName: "two-gpus" }] },
  );
  const output = await eventually("the pod has its GPUs", async () => {
    const { status } = await client.resource(Pod).get({ namespace, name: "user" });
    const log = status?.phase === "Running" ? await logOf(client, "user") : "";
    return log.includes("that is all") && log;
  });
  const { items: claims } = await client.resource(ResourceClaim).list({ namespace });
  const allocated = claims.flatMap(({ status }) => status?.allocation?.devices?.results ?? []);
  assert.equal(allocated.length, 2);
  const nodes = allocated.map(({ device }) => device.replace("gpu-", "nvidia")).toSorted();
  assert.deepEqual(output.trim().split("\n"), [
    ...nodes,
    "/usr/bin/nvidia-smi",
    ...further.output,
    "that is all",
  ]);

  const specs = async (): Promise<readonly string[]> =>
    (await cdiFiles()).filter((file) => file.startsWith(`k8s.${gpuDriver}-claim_`));
  assert.deepEqual(
    await specs(),
    claims.map(({ metadata }) => `k8s.${gpuDriver}-claim_${metadata.uid}.yaml`),
  );
  await prepared(claims[0]!);
  await deletePod(client, "user");
  assert.deepEqual(await specs(), []);

  // The class stands for the extended resource that NVIDIA's device plugin offers, too.
  await runOnce(client, "one", {
    image,
    command: ["sh", "-c", "ls /dev | grep -c '^nvidia[0-9]'"],
    resources: { limits: { "nvidia.com/gpu": "1" } },
  });
  assert.equal(await outputOf(client, "one"), "1\n");

  const [lost = ""] = machine.gpus;
  machine.xid(lost, fallenOff);
  const taints = await eventually("the lost GPU is tainted", async () => {
    const gpu = (await published(client)).find(({ attributes }) => attributes?.["uuid"]?.string === lost);
    return gpu?.taints;
  });
  assert.deepEqual(
    taints.map(({ key, value, effect }) => ({ key, value, effect })),
    [{ key: `${gpuDriver}/xid`, value: String(fallenOff), effect: "NoSchedule" }],
  );
  await runOnce(client, "all", {
    image,
    command: ["true"],
    resources: { limits: { "nvidia.com/gpu": String(count) } },
  });
  assert.match(await unschedulable(client, "all"), /cannot allocate all claims/);
}

async function published(client: Client): Promise<readonly Device[]> {
  const { items } = await client.resource(ResourceSlice).list();
  return items.filter(({ spec }) => spec.driver === gpuDriver).flatMap(({ spec }) => spec.devices ?? []);
}
