import assert from "node:assert/strict";
import { test } from "node:test";
import { type AllocateDevice, type ClaimOptions, startDriverNode } from "@dray/driver/testing";
import { cpuProfile, exampleDriver, netProfile, type Profile } from "../index.ts";

const shares = ["1b671a64-40d5-491e-99b0-da01ff1f3341", "6ecd8c99-4036-403d-bf84-cf8400f67836"] as const;

/** Returns the environment variables and the CDI devices of a container with the claim. */
async function container<C>(profile: Profile<C>, claim: ClaimOptions, request?: string) {
  const node = await startDriverNode(() => exampleDriver({ nodeName: "node-1", profile }));
  try {
    const made = await node.claim(claim);
    const { env, cdiDevices } = await (await made.prepare()).container(request);
    const clear = (text: string): string => text.replace(made.claim.metadata.uid, "<uid>");
    return {
      env: Object.entries(env)
        .slice(2)
        .map(([name, value]) => clear(`${name}=${value}`)),
      cdiDevices: cdiDevices.map(clear),
    };
  } finally {
    await node.close();
  }
}

test("network cards: names and capacity of the public example driver", () => {
  const [first, second] = netProfile("node-a", { count: 2 }).pool.devices;
  const { uuid, ...attributes } = second!.attributes!;
  assert.match(uuid!.string!, /^net-[0-9a-f-]{36}$/);
  assert.notDeepEqual(first!.attributes!["uuid"], uuid);
  assert.deepEqual(attributes, {
    index: { int: 1 },
    model: { string: "LATEST-NET-MODEL" },
    driverVersion: { version: "1.0.0" },
  });
  assert.deepEqual([second!.name, second!.allowMultipleAllocations], ["nic-1", true]);
  const bandwidth = {
    value: "100G",
    requestPolicy: { default: "1G", validRange: { min: "100M", max: "100G", step: "1M" } },
  };
  assert.deepEqual(second!.capacity, {
    vfs: { value: "100", requestPolicy: { default: "1", validValues: ["1"] } },
    ingressBandwidth: bandwidth,
    egressBandwidth: bandwidth,
  });
});

test("containers see rates in bits per second, and bursts that are configured", async () => {
  const device = (shareID: string, ingressBandwidth: string): AllocateDevice => ({
    device: "nic-0",
    request: `nic-${ingressBandwidth.toLowerCase()}`,
    shareID,
    consumedCapacity: { vfs: "1", ingressBandwidth, egressBandwidth: "5G" },
  });
  const claim: ClaimOptions = {
    devices: [device(shares[0], "10G"), device(shares[1], "1001M")],
    config: [
      {
        requests: ["nic-10g"],
        parameters: {
          apiVersion: "net.resource.example.com/v1alpha1",
          kind: "NetConfig",
          bwBurst: { egressBurst: 8000 },
        },
      },
    ],
  };
  const profile = netProfile("node-1", { count: 1 });
  assert.deepEqual(await container(profile, claim, "nic-10g"), {
    env: [
      "NET_DEVICE_0_EGRESS_BURST=8000",
      "NET_DEVICE_0_INGRESS_RATE=10000000000",
      "NET_DEVICE_0_EGRESS_RATE=5000000000",
      "NET_DEVICE_NIC_0_RESOURCE_CLAIM=<uid>",
      "DRA_ADMIN_ACCESS=false",
    ],
    cdiDevices: ["k8s.net.example.com/net=common", `k8s.net.example.com/net=<uid>-nic-0-${shares[0]}`],
  });
  const other = await container(profile, claim, "nic-1001m");
  assert.equal(other.env[0], "NET_DEVICE_0_INGRESS_RATE=1001000000");
  const gpuConfig = { apiVersion: "gpu.resource.example.com/v1alpha1", kind: "GpuConfig" };
  await assert.rejects(
    container(profile, { devices: claim.devices, config: [{ parameters: gpuConfig }] }),
    /NetConfig apiVersion: "gpu\.resource\.example\.com\/v1alpha1" is not supported/,
  );
});

test("NUMA nodes: their CPUs count as the node's own, in the fields of either release", async () => {
  const profile = cpuProfile("cpu.example.com", { numaNodes: 2, cpusPerNumaNode: 4 });
  const capacityKey = "cpu.example.com/cpu";
  assert.deepEqual(profile.pool.devices[1], {
    name: "numa-1",
    attributes: { numaNodeID: { int: 1 } },
    allowMultipleAllocations: true,
    capacity: { [capacityKey]: { value: "4" } },
    nodeAllocatableResourceMappings: { cpu: { capacityKey } },
    nodeAllocatableResources: { cpu: { mapping: { capacityKey, capacityMultiplier: "1" } } },
  });
  const device = { device: "numa-1", shareID: shares[0], consumedCapacity: { [capacityKey]: "1500m" } };
  assert.deepEqual((await container(profile, { devices: [device] })).env, [
    "CPU_DEVICE_1=numa-1",
    "CPU_DEVICE_1_CONSUMED_CPU=1500m",
    "CPU_DEVICE_NUMA_1_RESOURCE_CLAIM=<uid>",
    "DRA_ADMIN_ACCESS=false",
  ]);
  await assert.rejects(
    container(profile, { devices: [device], config: [{ parameters: {} }] }),
    /the driver takes no parameters with this profile/,
  );
});
