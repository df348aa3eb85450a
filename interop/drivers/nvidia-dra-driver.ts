import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { ClusterRole, ClusterRoleBinding } from "@dray/api/rbac/v1";
import {
  type Device,
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { peer } from "../peers.ts";
import { driverVersion, nvidiaMachine } from "./nvidia-machine.ts";
import { deletePod, logOf, namespace, outputOf, runOnce, unschedulable } from "./pods.ts";
import type { DriverTrial } from "./trial.ts";

const driver = "gpu.nvidia.com";
const count = 8;
/** Xid 79, "GPU has fallen off the bus". */
const fallenOff = 79;
const account = "dra-driver-nvidia-gpu-service-account-kubeletplugin";
const paths = ["/var/lib/kubelet/plugins_registry", "/var/lib/kubelet/plugins", "/var/run/cdi"];

/**
 * NVIDIA's DRA driver on simulated GPUs: the kubelet plugin as the container `gpus` of its chart, with the
 * service account, rights and class of the chart (deployments/helm/dra-driver-nvidia-gpu).
 */
export const nvidiaDraDriver: DriverTrial = {
  name: "nvidia-dra-driver",
  programs: ["gpu-kubelet-plugin", "libnvidia-ml.so.1"],
  async run({ client, nodes: [node] }, { folder }) {
    assert.ok(node);
    const machine = nvidiaMachine(folder, count);
    await install(client);
    await startPlugin(client, node.name, machine.root);
    const devices = await eventually("the GPUs are published", async () => {
      const found = await published(client);
      return found.length === count && found.toSorted((a, b) => a.name.localeCompare(b.name));
    });
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
        spec: { devices: { requests: [{ name: "gpus", exactly: { deviceClassName: driver, count: 2 } }] } },
      },
    });
    // Runs until it is deleted, so that the claim is still there to be looked at.
    const script = `ls /dev | grep '^nvidia[0-9]'; ls /usr/bin/nvidia-smi; exec sleep 1000`;
    await runOnce(
      client,
      "user",
      { command: ["sh", "-c", script], resources: { claims: [{ name: "gpus" }] } },
      { resourceClaims: [{ name: "gpus", resourceClaimTemplateName: "two-gpus" }] },
    );
    const output = await eventually("the pod has its GPUs", async () => {
      const { status } = await client.resource(Pod).get({ namespace, name: "user" });
      const log = status?.phase === "Running" ? await logOf(client, "user") : "";
      return log.includes("nvidia-smi") && log;
    });
    const { items: claims } = await client.resource(ResourceClaim).list({ namespace });
    const allocated = claims.flatMap(({ status }) => status?.allocation?.devices?.results ?? []);
    assert.equal(allocated.length, 2);
    const nodes = allocated.map(({ device }) => device.replace("gpu-", "nvidia")).toSorted();
    assert.equal(output, [...nodes, "/usr/bin/nvidia-smi", ""].join("\n"));

    const specs = (): readonly string[] =>
      readdirSync(node.cdiDirectory).filter((file) => file.startsWith(`k8s.${driver}-claim_`));
    assert.deepEqual(
      specs(),
      claims.map(({ metadata }) => `k8s.${driver}-claim_${metadata.uid}.yaml`),
    );
    await deletePod(client, "user");
    assert.deepEqual(specs(), []);

    // The class stands for the extended resource that NVIDIA's device plugin offers, too.
    await runOnce(client, "one", {
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
      [{ key: `${driver}/xid`, value: String(fallenOff), effect: "NoSchedule" }],
    );
    await runOnce(client, "all", {
      command: ["true"],
      resources: { limits: { "nvidia.com/gpu": String(count) } },
    });
    assert.match(await unschedulable(client, "all"), /cannot allocate all claims/);
  },
};

/** Runs the container `gpus` of the chart; `root` is where it finds the driver of the machine. */
async function startPlugin(client: Client, nodeName: string, root: string): Promise<void> {
  const folders = [...paths.map((path) => [path, path]), [root, "/driver-root"]] as const;
  const env = {
    NODE_NAME: nodeName,
    NAMESPACE: namespace,
    NVIDIA_DRIVER_ROOT: root,
    CDI_ROOT: "/var/run/cdi",
    IMAGE_NAME: "dra-driver-nvidia-gpu",
    NVIDIA_CDI_HOOK_PATH: "/bin/true",
    NVIDIA_VISIBLE_DEVICES: "void",
    FEATURE_GATES: "NVMLDeviceHealthCheck=true",
  };
  await runOnce(
    client,
    "gpus",
    {
      command: [peer("gpu-kubelet-plugin"), "-v", "4"],
      securityContext: { privileged: true },
      env: Object.entries(env).map(([name, value]) => ({ name, value })),
      volumeMounts: folders.map(([, mountPath], index) => ({
        name: `folder-${index}`,
        mountPath: mountPath ?? "",
      })),
    },
    {
      serviceAccountName: account,
      volumes: folders.map(([path = ""], index) => ({ name: `folder-${index}`, hostPath: { path } })),
    },
  );
}

async function published(client: Client): Promise<readonly Device[]> {
  const { items } = await client.resource(ResourceSlice).list();
  return items.filter(({ spec }) => spec.driver === driver).flatMap(({ spec }) => spec.devices ?? []);
}

/** Installs the objects of the chart other than the plugin. */
async function install(client: Client): Promise<void> {
  const expression = `device.driver == '${driver}' && device.attributes['${driver}'].type == 'gpu'`;
  await client.resource(DeviceClass).create({
    metadata: { name: driver },
    spec: { selectors: [{ cel: { expression } }], extendedResourceName: "nvidia.com/gpu" },
  });
  await client.resource(ServiceAccount).create({ metadata: { name: account, namespace } });
  const read = ["get", "list", "watch"];
  await client.resource(ClusterRole).create({
    metadata: { name: account },
    rules: [
      { apiGroups: ["resource.nvidia.com"], resources: ["computedomains"], verbs: read },
      { apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"], verbs: read },
      {
        apiGroups: ["resource.k8s.io"],
        resources: ["resourceslices"],
        verbs: [...read, "create", "update", "delete"],
      },
      { apiGroups: [""], resources: ["nodes"], verbs: [...read, "update"] },
      { apiGroups: [""], resources: ["pods"], verbs: read },
    ],
  });
  await client.resource(ClusterRoleBinding).create({
    metadata: { name: account },
    subjects: [{ kind: "ServiceAccount", name: account, namespace }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: account },
  });
}
