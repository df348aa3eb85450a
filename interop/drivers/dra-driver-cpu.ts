import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { DaemonSet } from "@dray/api/apps/v1";
import { type Container, Pod, ServiceAccount } from "@dray/api/core/v1";
import { ClusterRole, ClusterRoleBinding } from "@dray/api/rbac/v1";
import { DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice } from "@dray/api/resource/v1";
import type { TestCluster } from "@dray/cluster/testing";
import { eventually } from "@dray/testing/eventually";
import { freePort } from "@dray/testing/ports";
import { parse } from "yaml";
import { peer, peersFolder } from "../peers.ts";
import { deletePod, logOf, namespace, runOnce } from "./pods.ts";
import type { DriverTrial } from "./trial.ts";

const driver = "dra.cpu";
const image = "registry.k8s.io/dra-driver-cpu/dra-driver-cpu:*";

/** dra-driver-cpu, installed with its own manifests: claims of CPUs, and the cpusets of containers by NRI. */
export const draDriverCpu: DriverTrial = {
  name: "dra-driver-cpu",
  programs: ["dracpu", "dra-driver-cpu"],
  cluster: () => ({ images: [{ pattern: image, command: [`${peersFolder()}/`] }] }),
  async run(cluster) {
    const { client } = cluster;
    await install(cluster);
    const cpus = availableParallelism();
    const devices = await eventually("the CPUs are published", async () => {
      const { items } = await client.resource(ResourceSlice).list();
      const found = items
        .filter(({ spec }) => spec.driver === driver)
        .flatMap(({ spec }) => spec.devices ?? []);
      return found.length === cpus && found;
    });

    const script = "while :; do grep Cpus_allowed_list /proc/self/status; sleep 0.2; done";
    const command: Omit<Container, "name"> = { command: ["sh", "-c", script] };
    const allowed = async (pod: string): Promise<string | undefined> => {
      const { status } = await client.resource(Pod).get({ namespace, name: pod });
      if (status?.phase !== "Running") return undefined;
      return /:\s*(\S+)\n$/.exec(await logOf(client, pod))?.[1];
    };
    await runOnce(client, "shared", command);
    const all = await eventually("a pod without a claim runs", () => allowed("shared"));
    assert.equal(cpuList(all).length, cpus);
    await client.resource(ResourceClaimTemplate).create({
      metadata: { name: "one-cpu", namespace },
      spec: { spec: { devices: { requests: [{ name: "cpu", exactly: { deviceClassName: driver } }] } } },
    });
    await runOnce(
      client,
      "pinned",
      { ...command, resources: { claims: [{ name: "cpu" }] } },
      { resourceClaims: [{ name: "cpu", resourceClaimTemplateName: "one-cpu" }] },
    );
    const cpu = await eventually("the pod is pinned", () => allowed("pinned"));
    const { items: claims } = await client.resource(ResourceClaim).list({ namespace });
    const [result] = claims.flatMap(({ status }) => status?.allocation?.devices?.results ?? []);
    const device = devices.find(({ name }) => name === result?.device);
    assert.equal(cpu, String(device?.attributes?.["dra.cpu/cpuID"]?.int));
    // All other containers, running ones included, share the unclaimed CPUs.
    await eventually("the others keep off the claimed CPU", async () => {
      const shared = await allowed("shared");
      return shared !== undefined && !cpuList(shared).includes(Number(cpu));
    });
    await deletePod(client, "pinned");
    await eventually("the CPU is shared again", async () => (await allowed("shared")) === all);
  },
};

/** Installs what its manifests have, with every CPU as a device, on a free port. */
async function install({ client }: TestCluster): Promise<void> {
  const read = (name: string): unknown =>
    parse(readFileSync(join(peer("dra-driver-cpu"), `${name}-dracpu.part.yaml`), "utf8"));
  await client.resource(DeviceClass).create(read("deviceclass") as DeviceClass);
  await client.resource(ServiceAccount).create(read("serviceaccount") as ServiceAccount);
  await client.resource(ClusterRole).create(read("clusterrole") as ClusterRole);
  await client.resource(ClusterRoleBinding).create(read("clusterrolebinding") as ClusterRoleBinding);
  const daemonSet = read("daemonset") as DaemonSet;
  const [container] = daemonSet.spec?.template.spec?.containers ?? [];
  assert.ok(container);
  const port = await freePort();
  const { args = [], ...others } = container;
  const main: Container = {
    ...others,
    command: ["dracpu"],
    // The first is the path of the program.
    args: [
      ...args.slice(1).filter((flag) => !flag.startsWith("--cpu-device-mode=")),
      "--cpu-device-mode=individual",
      `--bind-address=:${port}`,
    ],
    ports: [{ name: "http", containerPort: port }],
  };
  const { template } = daemonSet.spec ?? {};
  assert.ok(daemonSet.spec && template?.spec);
  await client.resource(DaemonSet).create({
    ...daemonSet,
    spec: { ...daemonSet.spec, template: { ...template, spec: { ...template.spec, containers: [main] } } },
  });
}

/** The numbers of a list such as `0-2,5`. */
function cpuList(text: string): readonly number[] {
  return text.split(",").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
