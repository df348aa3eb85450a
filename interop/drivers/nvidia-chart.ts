import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Node } from "@dray/api/core/v1";
import { ResourceSlice } from "@dray/api/resource/v1";
import { eventually } from "@dray/testing/eventually";
import { peer } from "../peers.ts";
import type { DriverImage } from "./driver-images.ts";
import { checkGpus, gpuDriver } from "./nvidia-gpus.ts";
import { nvidiaMachine } from "./nvidia-machine.ts";
import { ociObstacle, onOciCluster, tools } from "./oci-cluster.ts";
import type { IndependentTrial } from "./trial.ts";

const count = 8;
const release = "dra-driver-nvidia-gpu";
/** Where the kubelet plugin puts the hook, in its node. */
const hook = `/var/lib/kubelet/plugins/${gpuDriver}/nvidia-cdi-hook`;

const programs = [
  "gpu-kubelet-plugin",
  "compute-domain-kubelet-plugin",
  "compute-domain-controller",
  "nvidia-cdi-hook",
] as const;

/** As its Dockerfile makes it (deployments/container/Dockerfile). */
const image: DriverImage = {
  name: "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5.0",
  programs: Object.fromEntries(programs.map((name) => [`/usr/bin/${name}`, peer(name)])),
  files: {
    "/usr/bin/kubelet-plugin-prestart.sh": join(peer("dra-driver-nvidia-gpu"), "kubelet-plugin-prestart.sh"),
    "/templates": join(peer("dra-driver-nvidia-gpu"), "templates"),
  },
};

/**
 * NVIDIA's DRA driver installed by Helm with its own chart, on simulated GPUs, and with its own CDI hook,
 * which lies in the folder of its plugin in the node.
 */
export const nvidiaChart: IndependentTrial = {
  name: "nvidia-chart",
  programs: [...programs, "dra-driver-nvidia-gpu", "helm", "libnvidia-ml.so.1"],
  obstacle: ociObstacle,
  runAlone(context) {
    return onOciCluster(context, [image], async ({ client, nodeName, run }) => {
      const { folder, print } = context;
      const machine = nvidiaMachine(folder, count);
      // As the operator for GPUs or node feature discovery labels it: the chart chooses nodes by that.
      const labels = { "nvidia.com/gpu.present": "true" };
      await client.resource(Node).patch({ name: nodeName }, "merge", { metadata: { labels } });
      const devices = join(folder, "proc-devices");
      writeFileSync(
        devices,
        "Character devices:\n195 nvidia\n235 nvidia-caps\n236 nvidia-caps-imex-channels\n",
      );
      const values = {
        nvidiaDriverRoot: machine.root,
        gpuResourcesEnabledOverride: true,
        "featureGates.NVMLDeviceHealthCheck": true,
        altProcDevices: devices,
      };
      const helm = (...args: readonly string[]): Promise<string> =>
        run(peer("helm"), `--namespace=${release}`, ...args);
      const installed = await helm(
        "install",
        release,
        join(peer("dra-driver-nvidia-gpu"), "chart"),
        "--create-namespace",
        "--wait",
        "--timeout=5m",
        ...Object.entries(values).map(([name, value]) => `--set=${name}=${value}`),
      );
      assert.match(installed, /STATUS: deployed/);
      print("the chart is installed");
      const inPlugin = (...command: readonly string[]): Promise<string> => {
        const plugin = [`--namespace=${release}`, `daemonset/${release}-kubelet-plugin`, "--container=gpus"];
        return run("kubectl", "exec", ...plugin, "--", ...command);
      };
      const libraries = "/usr/lib64";
      await checkGpus(
        {
          client,
          machine,
          image: tools.name,
          cdiFiles: async () => (await inPlugin("ls", "/var/run/cdi")).trim().split("\n"),
          // The hook has made the link.
          further: {
            script: `readlink ${libraries}/libcuda.so`,
            output: ["libcuda.so.1"],
          },
        },
        async ({ metadata }) => {
          const spec = await inPlugin("cat", `/var/run/cdi/k8s.${gpuDriver}-claim_${metadata.uid}.yaml`);
          assert.ok(spec.includes(`path: ${hook}\n`), spec);
          assert.ok(!existsSync(hook), `${hook} is the node's, not the machine's`);
        },
      );
      await helm("uninstall", release, "--wait");
      await eventually("the ResourceSlices are gone", async () => {
        const { items } = await client.resource(ResourceSlice).list();
        return items.length === 0;
      });
    });
  },
};
