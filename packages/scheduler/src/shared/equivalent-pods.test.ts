import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { createOfflineScheduler, type OfflineObject, type OfflineScheduler } from "@dray/scheduler";
import { partial } from "@dray/testing/partial";
import { Random } from "@dray/testing/random";

const driver = "gpu.example.com";
const extendedResource = "example.com/gpu";

function offline(objects: Iterable<OfflineObject>): OfflineScheduler {
  let made = 0;
  const newId = (): string => `${String(made++).padStart(8, "0")}-0000-4000-8000-000000000000`;
  const scheduler = createOfflineScheduler({ features: featuresOf("1.37"), newId, now: () => 0 });
  for (const object of objects) scheduler.add(object);
  return scheduler;
}

const made = (kind: string, name: string, rest: object, namespace?: string): OfflineObject =>
  partial<OfflineObject>({
    kind,
    metadata: { name, uid: `${kind}-${name}`, resourceVersion: "1", ...(namespace && { namespace }) },
    ...rest,
  });

/** `plugin`: devices that a device plugin offers. */
function node(name: string, cpu: number, plugin = 0): OfflineObject {
  const own = plugin > 0 && { [extendedResource]: `${plugin}` };
  const allocatable = { cpu: String(cpu), memory: "64Gi", pods: "20", ...own };
  return made("Node", name, { spec: {}, status: { allocatable } });
}

/** Devices of a node, or of all where it has no name. */
function slice(
  name: string,
  generation: number,
  { devices, tainted = 0 }: { readonly devices: number; readonly tainted?: number },
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

const gpuClass = (name: string, expression: string, rest = {}): OfflineObject =>
  made("DeviceClass", name, { spec: { selectors: [{ cel: { expression } }], ...rest } });

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
  const random = new Random(seed);
  for (const network of [false, true]) {
    const objects = new Map<string, OfflineObject>();
    const put = (object: OfflineObject, ...to: OfflineScheduler[]): void => {
      objects.set(`${object.kind}/${object.metadata.name}`, object);
      for (const scheduler of to) scheduler.add(object);
    };
    put(gpuClass("any", "true", { extendedResourceName: extendedResource }));
    put(gpuClass("b", `device.attributes["${driver}"].model == "b"`));
    for (let i = 0; i < 6; i++) {
      put(node(`n${i}`, 8));
      put(slice(`n${i}`, 1, { devices: 16 }, `n${i}`));
    }
    if (network) put(slice("net", 1, { devices: 4 }));
    // All before the first pod: a claim that is added is one more reason to ask again.
    const wanted = Array.from({ length: steps }, () => requests[random.below(requests.length)]);
    for (const [step, request] of wanted.entries())
      if (request)
        put(made("ResourceClaim", `c${step}`, { spec: { devices: { requests: [request] } } }, "d"));
    const live = offline(objects.values());
    let placed = 0;
    let served = 0;
    for (let step = 0; step < steps; step++) {
      const what = random.below(10);
      const name = `n${random.below(6)}`;
      if (what === 0) put(node(name, 2 + random.below(10), Math.max(0, random.below(5) - 2)), live);
      else if (what === 1)
        put(slice(name, step + 2, { devices: 12 + random.below(6), tainted: random.below(3) }, name), live);
      else if (what === 2 && network)
        put(slice("net", step + 2, { devices: 2 + random.below(4), tainted: random.below(2) }), live);
      const request = wanted[step];
      const named = request === undefined && random.below(3) > 0;
      const wants = { cpu: `${100 * (1 + random.below(2))}m`, ...(named && { [extendedResource]: "1" }) };
      const containers = [{ name: "c", resources: { requests: wants } }];
      const claims = request && [{ name: "c", resourceClaimName: `c${step}` }];
      const spec = { containers, ...(claims && { resourceClaims: claims }) };
      const pod = made("Pod", `p${step}`, { spec }, "d") as Pod;
      const expected = await offline(objects.values()).schedule(pod);
      const found = await live.schedule(pod);
      const outcomeOf = (placement: typeof found): string =>
        placement.type === "placed" ? placement.node : "message" in placement ? placement.message : "";
      assert.equal(outcomeOf(found), outcomeOf(expected), `seed ${seed}, step ${step}`);
      if (found.type !== "placed") continue;
      placed++;
      put({ ...pod, kind: "Pod", spec: { ...pod.spec, nodeName: found.node } } as OfflineObject);
      const claim = named ? live.extendedClaim(pod) : live.claim("d", `c${step}`);
      if (claim) put({ ...claim, kind: "ResourceClaim" } as ResourceClaim as OfflineObject);
      if (named && claim) served++;
    }
    assert.ok(placed > 20, `${placed} pods were placed`);
    assert.ok(served > 5, `${served} pods got devices for an extended resource`);
  }
});
