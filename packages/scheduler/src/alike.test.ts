import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { createOfflineScheduler, type OfflineObject, type OfflineScheduler } from "@dray/scheduler";

const driver = "gpu.example.com";

function offline(objects: Iterable<OfflineObject>): OfflineScheduler {
  let shares = 0;
  const newId = (): string => `00000000-0000-4000-8000-${String(shares++).padStart(12, "0")}`;
  const scheduler = createOfflineScheduler({ features: featuresOf("1.37"), newId, now: () => 0 });
  for (const object of objects) scheduler.add(object);
  return scheduler;
}

const made = (kind: string, name: string, rest: object, namespace?: string): OfflineObject =>
  ({
    kind,
    metadata: { name, uid: `${kind}-${name}`, resourceVersion: "1", ...(namespace && { namespace }) },
    ...rest,
  }) as unknown as OfflineObject;

const node = (name: string, cpu: number): OfflineObject =>
  made("Node", name, { spec: {}, status: { allocatable: { cpu: String(cpu), memory: "64Gi", pods: "20" } } });

/** Devices of a node, or of all where it has no name. */
function slice(
  name: string,
  generation: number,
  devices: number,
  tainted: number,
  nodeName?: string,
): OfflineObject {
  const pool = { name, generation, resourceSliceCount: 1 };
  const where = nodeName === undefined ? { allNodes: true } : { nodeName };
  const all = Array.from({ length: devices }, (_, i) => ({
    name: `gpu-${i}`,
    attributes: { model: { string: i % 2 === 0 ? "a" : "b" } },
    ...(i < tainted && { taints: [{ key: "k", value: "v", effect: "NoSchedule" }] }),
  }));
  return made("ResourceSlice", name, { spec: { driver, pool, ...where, devices: all } });
}

const gpuClass = (name: string, expression: string): OfflineObject =>
  made("DeviceClass", name, { spec: { selectors: [{ cel: { expression } }] } });

const exactly = (deviceClassName: string, count = 1): object => ({
  deviceClassName,
  allocationMode: "ExactCount",
  count,
});

/** Requests of the claims that pods have. */
const requests: readonly (object | undefined)[] = [
  undefined,
  { name: "r", exactly: exactly("any") },
  { name: "r", exactly: exactly("any", 2) },
  { name: "r", exactly: exactly("b") },
  {
    name: "r",
    firstAvailable: [
      { name: "x", ...exactly("b", 3) },
      { name: "y", ...exactly("any") },
    ],
  },
];

test("a node that is not asked again would have answered the same", async () => {
  const steps = 160;
  const seed = 20261123;
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
  for (const network of [false, true]) {
    const objects = new Map<string, OfflineObject>();
    const put = (object: OfflineObject, ...to: OfflineScheduler[]): void => {
      objects.set(`${object.kind}/${object.metadata.name}`, object);
      for (const scheduler of to) scheduler.add(object);
    };
    put(gpuClass("any", "true"));
    put(gpuClass("b", `device.attributes["${driver}"].model == "b"`));
    for (let i = 0; i < 6; i++) {
      put(node(`n${i}`, 8));
      put(slice(`n${i}`, 1, 5, 0, `n${i}`));
    }
    if (network) put(slice("net", 1, 4, 0));
    // All before the first pod: a claim that is added is one more reason to ask again.
    const wanted = Array.from({ length: steps }, () => requests[random(requests.length)]);
    for (const [step, request] of wanted.entries())
      if (request)
        put(made("ResourceClaim", `c${step}`, { spec: { devices: { requests: [request] } } }, "d"));
    const live = offline(objects.values());
    let placed = 0;
    for (let step = 0; step < steps; step++) {
      const what = random(10);
      const name = `n${random(6)}`;
      if (what === 0) put(node(name, 2 + random(10)), live);
      else if (what === 1) put(slice(name, step + 2, 3 + random(4), random(3), name), live);
      else if (what === 2 && network) put(slice("net", step + 2, 2 + random(4), random(2)), live);
      const request = wanted[step];
      const containers = [{ name: "c", resources: { requests: { cpu: `${100 * (1 + random(2))}m` } } }];
      const claims = request && [{ name: "c", resourceClaimName: `c${step}` }];
      const spec = { containers, ...(claims && { resourceClaims: claims }) };
      const pod = made("Pod", `p${step}`, { spec }, "d") as Pod;
      const expected = await offline(objects.values()).schedule(pod);
      const found = await live.schedule(pod);
      const told = (placement: typeof found): string =>
        placement.type === "placed" ? placement.node : "message" in placement ? placement.message : "";
      assert.equal(told(found), told(expected), `seed ${seed}, step ${step}`);
      if (found.type !== "placed") continue;
      placed++;
      put({ ...pod, kind: "Pod", spec: { ...pod.spec, nodeName: found.node } } as OfflineObject);
      const claim = request && live.claim("d", `c${step}`);
      if (claim) put({ ...claim, kind: "ResourceClaim" } as ResourceClaim as OfflineObject);
    }
    assert.ok(placed > 20, `${placed} pods were placed`);
  }
});
