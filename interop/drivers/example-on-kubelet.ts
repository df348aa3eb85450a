import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Pod } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { parse } from "yaml";
import { connect } from "../credentials.ts";
import { nodePeers, peer, suitePeers } from "../peers.ts";
import { assertRuns, type Program, start } from "../processes.ts";
import { draParts, startCluster } from "../suites/clusters.ts";
import { missingPrograms, output } from "../suites/commands.ts";
import { imageNames, makeImages, suiteImagePrograms } from "../suites/images.ts";
import { networkPlugins, nodePrograms, type RealNode } from "../suites/nodes.ts";
import { deletePod, logOf, namespace } from "./pods.ts";
import type { IndependentTrial } from "./trial.ts";

const repository = join(import.meta.dirname, "../..");
const driver = "gpu.example.com";

/** The other way round: our example driver, and so our SDK, with the real kubelet and containerd. */
export const exampleOnKubelet: IndependentTrial = {
  name: "example-on-kubelet",
  programs: [...suitePeers, ...nodePeers],
  obstacle() {
    const programs = missingPrograms([...nodePrograms, ...suiteImagePrograms]);
    if (programs.length > 0) return `programs missing: ${programs.join(", ")}`;
    if (networkPlugins.some((folder) => existsSync(join(folder, "bridge")))) return undefined;
    return `network plugins missing: none in ${networkPlugins.join(" or ")} (Debian: containernetworking-plugins)`;
  },
  async runAlone({ folder }) {
    const images = makeImages(join(folder, "images"));
    const cluster = await startCluster(draParts("kubelet"), { folder, images, nodes: 1 });
    try {
      const client = await connect(cluster.kubeconfig);
      try {
        const [node] = cluster.nodes;
        assert.ok(node);
        await use(client, node, () => startDriver(node, cluster.kubeconfig, join(folder, "driver.log")));
      } finally {
        client.close();
      }
    } finally {
      await cluster.stop();
    }
  },
};

/** Starts the driver as a process of the node. */
function startDriver({ name, enter }: RealNode, kubeconfig: string, log: string): Program {
  const program = join(repository, "drivers/example/src/main.ts");
  const command = [...enter, process.execPath, ...process.execArgv, program];
  const env = { NODE_NAME: name, KUBECONFIG: kubeconfig, CDI_ROOT: "/var/run/cdi", NUM_DEVICES: "2" };
  return start("the example driver", ["nsenter", ...command], log, { ...process.env, ...env });
}

async function use(client: Client, node: RealNode, run: () => Program): Promise<void> {
  let program = run();
  try {
    await eventually("the GPUs are published", async () => {
      assertRuns(program);
      const { items } = await client.resource(ResourceSlice).list();
      return items.some(({ spec }) => spec.driver === driver && spec.devices?.length === 2);
    });
    const manifest = join(repository, "examples/dra/driver-install/deviceclass.yaml");
    await client.resource(DeviceClass).create(parse(readFileSync(manifest, "utf8")) as DeviceClass);
    await client.resource(ResourceClaimTemplate).create({
      metadata: { name: "gpu", namespace },
      spec: { spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: driver } }] } } },
    });
    const names = imageNames(output(peer("e2e.test"), ["--list-images"]).split("\n"));
    await client.resource(Pod).create({
      metadata: { name: "user", namespace },
      spec: {
        terminationGracePeriodSeconds: 1,
        resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "gpu" }],
        containers: [
          {
            name: "main",
            image: names.get("busybox")?.[0] ?? "",
            command: ["sh", "-c", "env | grep ^GPU_DEVICE; echo that is all; exec sleep 1000"],
            resources: { claims: [{ name: "gpu" }] },
          },
        ],
      },
    });
    const log = await eventually("the container has its GPU", async () => {
      const { status } = await client.resource(Pod).get({ namespace, name: "user" });
      const text = status?.phase === "Running" ? await logOf(client, "user") : "";
      return text.includes("that is all") && text;
    });
    const { items: claims } = await client.resource(ResourceClaim).list({ namespace });
    const [claim] = claims;
    const [result] = claim?.status?.allocation?.devices?.results ?? [];
    const number = result?.device.replace("gpu-", "");
    assert.ok(log.includes(`GPU_DEVICE_${number}=gpu-${number}\n`), log);
    assert.ok(log.includes(`GPU_DEVICE_GPU_${number}_RESOURCE_CLAIM=${claim?.metadata.uid}\n`), log);
    const specs = (): readonly string[] =>
      output("nsenter", [...node.enter, "ls", "/var/run/cdi"])
        .split("\n")
        .filter((file) => file.includes(claim?.metadata.uid ?? ""));
    assert.equal(specs().length, 1);

    // The kubelet finds the driver that comes back, which remembers what it has prepared.
    await program.stop();
    program = run();
    await deletePod(client, "user");
    assert.deepEqual(specs(), []);
    assertRuns(program);
  } finally {
    await program.stop();
  }
}
