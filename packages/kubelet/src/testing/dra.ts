import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Features } from "@dray/api";
import { type Container, Pod, type PodStatus, ServiceAccount } from "@dray/api/core/v1";
import { type DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { type Client, type Clock, type Log, silentLog, systemClock } from "@dray/client";
import { DraManager, type DraManagerOptions } from "../dra/manager.ts";
import { DraPlugins } from "../dra/plugins.ts";
import { PluginWatcher } from "../dra/watcher.ts";
import { podOn, type TestCluster, testCluster } from "./cluster.ts";

/** An API server where pods can be made. */
export async function draCluster(): Promise<TestCluster> {
  const cluster = await testCluster();
  const metadata = { namespace: "default", name: "default" };
  await cluster.admin.resource(ServiceAccount).create({ metadata });
  return cluster;
}

/** The part of a node that talks to drivers, alone, on a root of its own. */
export interface TestDraNode {
  readonly root: string;
  readonly plugins: DraPlugins;
  readonly manager: DraManager;
  close(): Promise<void>;
}

export interface TestDraNodeOptions extends Partial<Omit<DraManagerOptions, "plugins">> {
  readonly features?: Features;
  readonly clock?: Clock;
  readonly log?: Log;
}

/** Another one on the same root is the agent after a restart. */
export function draNode(cluster: TestCluster, name: string, options: TestDraNodeOptions = {}): TestDraNode {
  const root = cluster.rootDir(name);
  const kubelet = join(root, "var/lib/kubelet");
  for (const folder of [join(kubelet, "plugins_registry"), join(root, "var/run/cdi")])
    mkdirSync(folder, { recursive: true });
  const { clock = systemClock, log = silentLog } = options;
  const plugins = new DraPlugins(log);
  const manager = new DraManager({
    client: cluster.nodeClient(name),
    checkpoint: join(kubelet, "dra_manager_state"),
    released: () => {},
    ...options,
    plugins,
    clock,
    log,
  });
  const watcher = new PluginWatcher({
    directory: join(kubelet, "plugins_registry"),
    plugins,
    onMachine: (path) => (path.startsWith(root) ? path : join(root, path)),
    clock,
    log,
  });
  watcher.start();
  return {
    root,
    plugins,
    manager,
    async close() {
      watcher.close();
      plugins.close();
      await manager.close();
    },
  };
}

/** An allocated claim of a pod. */
export interface AllocatedClaim {
  /** In `spec.resourceClaims`. */
  readonly podClaim: string;
  readonly name: string;
  readonly results: readonly Pick<DeviceRequestAllocationResult, "request" | "driver" | "pool" | "device">[];
  /** Names of its requests; by default those of the results. */
  readonly requests?: readonly string[];
  readonly adminAccess?: boolean;
}

/** A result of request `gpu`. */
export const allocated = (driver: string, device = "gpu-0"): AllocatedClaim["results"][number] => ({
  request: "gpu",
  driver,
  pool: "pool",
  device,
});

const main = (claims: readonly AllocatedClaim[]): Container => ({
  name: "main",
  command: ["sleep", "1000"],
  resources: { claims: claims.map(({ podClaim }) => ({ name: podClaim })) },
});

/**
 * Creates a pod whose claims are allocated and reserved for it, as the scheduler leaves them; claims may
 * exist.
 */
export async function podWithClaims(
  admin: Client,
  { node, name }: { readonly node: string; readonly name: string },
  claims: readonly AllocatedClaim[],
  {
    containers = [main(claims)],
    status,
  }: { readonly containers?: readonly Container[]; readonly status?: PodStatus } = {},
): Promise<Pod> {
  const pods = admin.resource(Pod);
  let pod = await pods.create(
    podOn(node, name, {
      resourceClaims: claims.map((claim) => ({ name: claim.podClaim, resourceClaimName: claim.name })),
      containers: [...containers],
    }),
  );
  for (const claim of claims) await reserve(admin, claim, pod);
  if (status !== undefined)
    pod = await pods.update({ ...pod, status: { ...pod.status, ...status } }, { subresource: "status" });
  return pod;
}

/** Allocates a claim, creating it if needed, and reserves it for a pod. */
async function reserve(admin: Client, claim: AllocatedClaim, pod: Pod): Promise<ResourceClaim> {
  const claims = admin.resource(ResourceClaim);
  const { namespace = "default" } = pod.metadata;
  const requests = claim.requests ?? [...new Set(claim.results.map(({ request }) => request))];
  const access = claim.adminAccess === undefined ? {} : { adminAccess: claim.adminAccess };
  const old = await claims.get({ namespace, name: claim.name }).catch(() =>
    claims.create({
      metadata: { namespace, name: claim.name },
      spec: {
        devices: {
          requests: requests.map((name) => ({
            name,
            exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 1, ...access },
          })),
        },
      },
    }),
  );
  const consumer = { resource: "pods", name: pod.metadata.name, uid: pod.metadata.uid };
  return claims.update(
    {
      ...old,
      status: {
        ...old.status,
        allocation: old.status?.allocation ?? {
          devices: { results: claim.results.map((result) => ({ ...result, ...access })) },
        },
        reservedFor: [...(old.status?.reservedFor ?? []), consumer],
      },
    },
    { subresource: "status" },
  );
}
