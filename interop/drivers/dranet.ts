import assert from "node:assert/strict";
import { Pod } from "@dray/api/core/v1";
import { type Device, DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { peer } from "../peers.ts";
import type { DriverImage } from "./driver-images.ts";
import { type OciCluster, ociObstacle, onOciCluster, tools } from "./oci-cluster.ts";
import { deletePod, logOf, namespace, outputOf, runOnce } from "./pods.ts";
import type { IndependentTrial } from "./trial.ts";

const driver = "dra.net";
/** An interface of the node. */
const card = "fast0";
const address = "192.0.2.10/24";
/** Its name in the pod, as the claim wants it. */
const nameInPod = "eth99";

const image: DriverImage = {
  name: "registry.k8s.io/networking/dranet:stable",
  programs: { "/dranet": peer("dranet") },
  command: ["/dranet"],
};

/**
 * dranet with its own manifest (install.yaml): interfaces of the node are devices, which it moves into the
 * network name spaces of pods by NRI, and back.
 */
export const dranet: IndependentTrial = {
  name: "dranet",
  programs: ["dranet", "dranet.yaml"],
  obstacle: ociObstacle,
  runAlone(context) {
    return onOciCluster(context, [image], async (cluster) => {
      await inNode(
        cluster,
        "add",
        // As upstream's suite has it; some kernels lack the type. dranet's manifest leaves veth out.
        `ip link add ${card} type dummy || ip link add ${card} type ifb`,
        `ip addr add ${address} dev ${card}`,
        `ip link set ${card} up`,
      );
      await cluster.run("kubectl", "apply", "-f", peer("dranet.yaml"));
      await cluster.run(
        "kubectl",
        "--namespace=kube-system",
        "rollout",
        "status",
        "daemonset/dranet",
        "--timeout=2m",
      );
      const device = await publishedCard(cluster.client);
      await useCard(cluster, device);
      // The pod has ended, and its interface is the node's again.
      await inNode(cluster, "look-afterwards", `ip link show ${card}`);
      assert.equal((await publishedCard(cluster.client)).name, device.name);
    });
  },
};

async function useCard(cluster: OciCluster, device: Device): Promise<void> {
  const { client } = cluster;
  await client.resource(DeviceClass).create({
    metadata: { name: driver },
    spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
  });
  const claims = client.resource(ResourceClaim);
  const name = { namespace, name: "card" };
  const expression = `device.attributes["${driver}"].?ifName.orValue("") == "${card}"`;
  const parameters = { interface: { name: nameInPod } };
  await claims.create({
    metadata: name,
    spec: {
      devices: {
        requests: [
          { name: "card", exactly: { deviceClassName: driver, selectors: [{ cel: { expression } }] } },
        ],
        config: [{ opaque: { driver, parameters } }],
      },
    },
  });
  await runOnce(
    client,
    "user",
    {
      image: tools.name,
      command: ["sh", "-c", `ip -o -4 addr show ${nameInPod}; echo that is all; exec sleep 1000`],
    },
    { resourceClaims: [{ name: "card", resourceClaimName: "card" }] },
  );
  const log = await eventually("the pod has the interface", async () => {
    const { status } = await client.resource(Pod).get({ namespace, name: "user" });
    const text = status?.phase === "Running" ? await logOf(client, "user") : "";
    return text.includes("that is all") && text;
  });
  assert.match(log, new RegExp(`inet ${address} `));
  const status = await eventually("the claim's status has the network", async () => {
    const [reported] = (await claims.get(name)).status?.devices ?? [];
    return reported?.networkData !== undefined && reported;
  });
  assert.equal(status.device, device.name);
  assert.equal(status.networkData?.interfaceName, nameInPod);
  assert.deepEqual(status.networkData?.ips, [address]);
  assert.match(status.networkData?.hardwareAddress ?? "", /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/);
  assert.deepEqual(
    status.conditions?.filter((condition) => condition.status !== "True"),
    [],
  );
  const links = await inNode(cluster, "look-meanwhile", "ip -o link");
  assert.doesNotMatch(links, new RegExp(` ${card}[@:]`));
  await deletePod(client, "user");
}

async function publishedCard(client: Client): Promise<Device> {
  return eventually(
    `${card} is published`,
    async () => {
      const { items } = await client.resource(ResourceSlice).list();
      return items
        .filter(({ spec }) => spec.driver === driver)
        .flatMap(({ spec }) => spec.devices ?? [])
        .find(({ attributes }) => attributes?.[`${driver}/ifName`]?.string === card);
    },
    60_000,
  );
}

/** Runs commands in the network of the node; resolves to what they print. */
async function inNode({ client }: OciCluster, name: string, ...commands: readonly string[]): Promise<string> {
  await runOnce(
    client,
    name,
    {
      image: tools.name,
      command: ["sh", "-ec", commands.join("\n")],
      securityContext: { privileged: true },
    },
    { hostNetwork: true },
  );
  return outputOf(client, name);
}
