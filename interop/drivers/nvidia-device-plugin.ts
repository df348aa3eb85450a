import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { DaemonSet } from "@dray/api/apps/v1";
import type { Container } from "@dray/api/core/v1";
import { parse } from "yaml";
import { peer } from "../peers.ts";
import { driverRoot, nvidiaMachine } from "./nvidia-machine.ts";
import { nodeOffers, outputOf, runOnce, unschedulable } from "./pods.ts";
import type { DriverTrial } from "./trial.ts";

const resource = "nvidia.com/gpu";
const count = 4;
/** Xid 79, "GPU has fallen off the bus". */
const fallenOff = 79;

/** NVIDIA's device plugin, installed with its own manifest, on simulated GPUs. */
export const nvidiaDevicePlugin: DriverTrial = {
  name: "nvidia-device-plugin",
  programs: ["nvidia-device-plugin", "nvidia-device-plugin.yml", "libnvidia-ml.so.1"],
  cluster: (folder) => {
    const root = driverRoot(folder);
    const command = [
      peer("nvidia-device-plugin"),
      `--nvidia-driver-root=${root}`,
      `--driver-root-ctr-path=${root}`,
    ];
    return { images: [{ pattern: "nvcr.io/nvidia/k8s-device-plugin:*", command, needs: [root] }] };
  },
  async run({ client, nodes: [node] }, { folder }) {
    assert.ok(node);
    const machine = nvidiaMachine(folder, count);
    const manifest = parse(readFileSync(peer("nvidia-device-plugin.yml"), "utf8")) as DaemonSet;
    const daemonSets = client.resource(DaemonSet);
    await daemonSets.create(manifest);
    await nodeOffers(client, node.name, resource, { capacity: count, allocatable: count });

    const asking = (devices: number): Omit<Container, "name"> => ({
      command: ["sh", "-c", 'echo "$NVIDIA_VISIBLE_DEVICES"'],
      resources: { limits: { [resource]: String(devices) } },
    });
    await runOnce(client, "two", asking(2));
    const visible = (await outputOf(client, "two")).trim().split(",");
    assert.equal(new Set(visible).size, 2);
    for (const uuid of visible) assert.ok(machine.gpus.includes(uuid), `${uuid} is one of the GPUs`);
    await runOnce(client, "too-many", asking(count + 1));
    assert.match(await unschedulable(client, "too-many"), new RegExp(`Insufficient ${resource}`));

    const [lost = ""] = machine.gpus;
    machine.xid(lost, fallenOff);
    await nodeOffers(client, node.name, resource, { capacity: count, allocatable: count - 1 });
    await runOnce(client, "others", asking(count - 1));
    const others = (await outputOf(client, "others")).trim().split(",");
    assert.deepEqual(
      others.toSorted(),
      machine.gpus.filter((uuid) => uuid !== lost),
    );

    const { namespace, name } = manifest.metadata;
    await daemonSets.delete({ namespace: namespace ?? "", name: name ?? "" });
    await nodeOffers(client, node.name, resource, { capacity: count, allocatable: 0 });
  },
};
