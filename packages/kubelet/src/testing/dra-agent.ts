import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { crc32 } from "node:zlib";
import { Event, Pod, type PodSpec, ServiceAccount } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import type { Kubelet } from "../index.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "./cluster.ts";
import { type TestDriver, testDriver } from "./driver.ts";

/** Name of the driver. */
export const name = "gpu.example.com";

/** Cluster, node and driver of a test file; tests may replace the node and the driver. */
class Suite {
  cluster!: TestCluster;
  node!: Kubelet;
  driver!: TestDriver;

  /** Root of the node. */
  root(): string {
    return this.cluster.rootDir("n1");
  }
}

export const suite = new Suite();

/** Starts one node for the tests of a file, and a driver if `driver` is set. */
export function startDraAgent({ driver = false } = {}): void {
  before(async () => {
    suite.cluster = await testCluster();
    await suite.cluster.admin
      .resource(ServiceAccount)
      .create({ metadata: { namespace: "default", name: "default" } });
    suite.node = await suite.cluster.node("n1");
    if (driver) suite.driver = await testDriver(suite.root(), name);
  });
  after(async () => {
    if (driver) await suite.driver.close();
    await suite.cluster.close();
  });
}

export const becomes = (pod: string, wanted: (pod: Pod) => boolean) =>
  podBecomes(suite.cluster.admin, { namespace: "default", name: pod }, wanted);

export const running = (pod: Pod): boolean =>
  pod.status?.containerStatuses?.[0]?.state?.running !== undefined;

export const checkpoint = (): {
  ClaimInfoStateList: { ClaimName: string; PodUIDs: object; DriverState: object }[];
} => {
  const { Data, Checksum } = JSON.parse(
    readFileSync(join(suite.root(), "var/lib/kubelet/dra_manager_state"), "utf8"),
  ) as { Data: string; Checksum: number };
  assert.equal(crc32(Data), Checksum);
  return JSON.parse(Data);
};

/** Creates a pod with an allocated claim, as the scheduler would leave them. */
export async function podWithClaim(
  pod: string,
  claim: string,
  command: string,
  { device = "gpu-0", ...more }: Partial<PodSpec> & { readonly device?: string } = {},
): Promise<Pod> {
  const created = await suite.cluster.admin.resource(Pod).create(
    podOn("n1", pod, {
      ...more,
      resourceClaims: [{ name: "gpu", resourceClaimName: claim }],
      containers: [
        { name: "main", command: ["bash", "-c", command], resources: { claims: [{ name: "gpu" }] } },
      ],
    }),
  );
  const claims = suite.cluster.admin.resource(ResourceClaim);
  let old = await claims.get({ namespace: "default", name: claim }).catch(() =>
    claims.create({
      metadata: { namespace: "default", name: claim },
      spec: {
        devices: {
          requests: [
            { name: "gpu", exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 1 } },
          ],
        },
      },
    }),
  );
  const allocated = old.status?.allocation?.devices?.results?.[0]?.device;
  // An allocation cannot be changed: the claim is deallocated in between.
  if (allocated !== undefined && allocated !== device)
    old = await claims.update({ ...old, status: {} }, { subresource: "status" });
  await claims.update(
    {
      ...old,
      status: {
        ...old.status,
        allocation: {
          devices: { results: [{ request: "gpu", driver: name, pool: "pool", device }] },
        },
        reservedFor: [
          ...(old.status?.reservedFor ?? []),
          { resource: "pods", name: pod, uid: created.metadata.uid },
        ],
      },
    },
    { subresource: "status" },
  );
  return created;
}

export async function events(pod: string): Promise<string[]> {
  const { items } = await suite.cluster.admin.resource(Event).list({ namespace: "default" });
  return items
    .filter(({ involvedObject }) => involvedObject.name === pod)
    .map(({ reason, message }) => `${reason}: ${message}`);
}
