import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { ServiceAccount } from "@dray/api/core/v1";
import { ClusterRole, ClusterRoleBinding } from "@dray/api/rbac/v1";
import { DeviceClass } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";
import { peer } from "../peers.ts";
import { checkGpus, gpuDriver } from "./nvidia-gpus.ts";
import { nvidiaMachine } from "./nvidia-machine.ts";
import { namespace, runOnce } from "./pods.ts";
import type { DriverTrial } from "./trial.ts";

const count = 8;
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
    await checkGpus({ client, machine, image: "host", cdiFiles: async () => readdirSync(node.cdiDirectory) });
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

/** Installs the objects of the chart other than the plugin. */
async function install(client: Client): Promise<void> {
  const expression = `device.driver == '${gpuDriver}' && device.attributes['${gpuDriver}'].type == 'gpu'`;
  await client.resource(DeviceClass).create({
    metadata: { name: gpuDriver },
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
