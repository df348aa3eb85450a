import { Pod } from "@dray/api/core/v1";
import { DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { servedResources, startDeviceTaintEvictionController } from "@dray/controllers";
import type { Controller, ControllerContext } from "../shared/context.ts";
import { type TestCluster, type TestOptions, withCluster } from "../testing/cluster.ts";

export const start = async (context: ControllerContext): Promise<Controller> =>
  startDeviceTaintEvictionController(context, await servedResources(context));
export const onCluster = (
  run: (cluster: TestCluster) => Promise<void>,
  options?: TestOptions,
): Promise<void> => withCluster(start, run, options);

export const driver = "gpu.example.com";

interface SliceOptions {
  readonly generation?: number;
  readonly pool?: string;
  readonly taints?: readonly object[];
}

export async function slice(
  cluster: TestCluster,
  name: string,
  options: SliceOptions = {},
): Promise<ResourceSlice> {
  const { generation = 1, pool = "n", taints } = options;
  return cluster.create(ResourceSlice, {
    metadata: { name },
    spec: {
      driver,
      pool: { name: pool, generation, resourceSliceCount: 1 },
      nodeName: "n",
      devices: [{ name: "gpu-0", ...(taints === undefined ? {} : { taints }) }, { name: "gpu-1" }],
    },
  });
}

/** A running pod with a device of its own. */
export async function userOf(
  cluster: TestCluster,
  name: string,
  device: string,
  tolerations: readonly object[] = [],
): Promise<Pod> {
  const exactly = { deviceClassName: "gpu", tolerations };
  await cluster.create(ResourceClaim, {
    metadata: { name, finalizers: ["resource.kubernetes.io/delete-protection"] },
    spec: { devices: { requests: [{ name: "gpu", exactly }] } },
  });
  const pod = await cluster.create(Pod, {
    metadata: { name },
    spec: {
      nodeName: "n",
      containers: [{ name: "c", image: "i" }],
      resourceClaims: [{ name: "gpu", resourceClaimName: name }],
    },
  });
  const result = { request: "gpu", driver, pool: "n", device, tolerations };
  const reservedFor = [{ resource: "pods", name, uid: pod.metadata.uid }];
  await cluster.client
    .resource(ResourceClaim)
    .patch(
      { namespace: "d", name },
      "merge",
      { status: { allocation: { devices: { results: [result] } }, reservedFor } },
      { subresource: "status" },
    );
  await cluster.setStatus(pod, { phase: "Running" });
  return pod;
}

export async function rule(cluster: TestCluster, name: string, spec: object): Promise<DeviceTaintRule> {
  return cluster.create(DeviceTaintRule, { metadata: { name }, spec });
}

export const evicts = { key: "broken", effect: "NoExecute" };

export async function isLeaving(cluster: TestCluster, name: string): Promise<boolean> {
  return (await cluster.find(Pod, name))?.metadata.deletionTimestamp !== undefined;
}

/** Reason, status and message of the rule's condition. */
export async function condition(cluster: TestCluster, name: string): Promise<string[] | undefined> {
  const { status } = await cluster.get(DeviceTaintRule, name);
  const found = status?.conditions?.find(({ type }) => type === "EvictionInProgress");
  return found === undefined ? undefined : [found.status ?? "", found.reason ?? "", found.message ?? ""];
}

export function conditionIs(cluster: TestCluster, name: string, wanted: readonly string[]): Promise<unknown> {
  return cluster.until(`${name}: ${wanted.join(" ")}`, async () => {
    const found = await condition(cluster, name);
    return found?.join("|") === wanted.join("|");
  });
}
