import assert from "node:assert/strict";
import { test } from "node:test";
import {
  allocation,
  claim,
  gpuClass,
  type Manifest,
  node,
  plain,
  planned,
  pod,
  slice,
  template,
  usesClaim,
} from "./testing.ts";

const adminSpace = { name: "default", labels: { "resource.kubernetes.io/admin-access": "true" } };
const cluster = [node("n"), node("m"), slice("n", 4), gpuClass];

/** A pod whose container uses a request of the pod's claim `gpu`. */
const asking = (name: string, request: string, entry: object): Manifest =>
  pod(name, {
    containers: [{ name: "main", image: "i", resources: { claims: [{ name: "gpu", request }] } }],
    resourceClaims: [{ name: "gpu", ...entry }],
  });

const warned = async (...objects: Manifest[]): Promise<readonly string[]> => {
  const { data, stderr, code } = await planned([...cluster, ...objects]);
  assert.equal(code, 0);
  const { warnings } = data.summary;
  assert.equal(stderr, warnings.map((text) => `warning: ${text}\n`).join(""));
  return warnings.map((text) => text.replace(/^.*objects.json:1, document 1, /, ""));
};

test("a container that gets no device, because it names something else than a request of the claim", async () => {
  assert.deepEqual(
    await warned(
      claim("my-claim"),
      template("t"),
      asking("right", "gpu", { resourceClaimName: "my-claim" }),
      asking("claims-name", "my-claim", { resourceClaimName: "my-claim" }),
      asking("templates-name", "t", { resourceClaimTemplateName: "t" }),
      asking("nothing", "frob", { resourceClaimName: "my-claim" }),
    ),
    [
      'item 8: Pod default/claims-name: spec.containers[0].resources.claims[0].request: "my-claim" is the name of the ResourceClaim, not of a request in it: container main gets no device; its requests are gpu',
      'item 9: Pod default/templates-name: spec.containers[0].resources.claims[0].request: "t" is the name of the ResourceClaimTemplate, not of a request in it: container main gets no device; its requests are gpu',
      'item 10: Pod default/nothing: spec.containers[0].resources.claims[0].request: "frob" is no request of the claim: container main gets no device; its requests are gpu',
    ],
  );
});

test("a claim that no container names", async () => {
  assert.deepEqual(
    await warned(claim("c"), pod("p", plain({ resourceClaims: [{ name: "gpu", resourceClaimName: "c" }] }))),
    [
      'item 6: Pod default/p: spec.resourceClaims[0]: no container names "gpu": its devices are prepared for the pod, and no container gets them',
    ],
  );
});

test("a pod that is bound while its claim has no devices, or devices of another node", async () => {
  assert.deepEqual(
    await warned(
      claim("open"),
      pod("bound", { ...usesClaim("open"), nodeName: "n" }),
      claim("on-n", {}, { status: { allocation: allocation("n", "gpu-0") } }),
      pod("right", { ...usesClaim("on-n"), nodeName: "n" }),
      pod("astray", { ...usesClaim("on-n"), nodeName: "m" }),
      claim("shared"),
      pod("lucky", { ...usesClaim("shared"), nodeName: "n" }),
      pod("scheduled", usesClaim("shared")),
    ),
    [
      "item 6: Pod default/bound: spec.nodeName: the pod is bound to node n, so its claim open will not be allocated: the scheduler looks only at pods without a node",
      "item 9: Pod default/astray: spec.nodeName: the pod is bound to node m, where the devices of its claim on-n cannot be used",
    ],
  );
});

test("an attribute map that is indexed by a full name", async () => {
  const expression = '"x" in device.attributes["vendor.com/vram-gb"] || device.driver == "gpu.example.com"';
  const [warning, ...more] = await warned({
    ...gpuClass,
    metadata: { name: "odd" },
    spec: { selectors: [{ cel: { expression } }] },
  });
  assert.deepEqual(more, []);
  assert.match(warning ?? "", /^item 5: selector ".*": .*device\.attributes\["vendor\.com"\]/);
});

test("one warning per workload names the fields that the plan ignores", async () => {
  const other = {
    schedulerName: "own",
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
  };
  assert.deepEqual(
    await warned({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d" },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: "d" } },
        template: { metadata: { labels: { app: "d" } }, spec: plain(other) },
      },
    }),
    [
      "item 5: Deployment default/d: spec.template.spec.volumes: where data can be mounted is not looked at",
      "item 5: Deployment default/d: spec.template.spec.schedulerName: own is planned by the rules of the default scheduler",
    ],
  );
});

test("a device that two claims have", async () => {
  const has = (device: string, more: object = {}): object => {
    const made = allocation("n", device) as { devices: { results: object[] } };
    const results = made.devices.results.map((result) => ({ ...result, ...more }));
    return { status: { allocation: { ...made, devices: { results } } } };
  };
  const share = { shareID: "a671734a-e8e5-11e4-8fde-42010af09327" };
  assert.deepEqual(
    await warned(
      claim("one", {}, has("gpu-0")),
      claim("other", {}, has("gpu-0")),
      claim("admin", { adminAccess: true }, has("gpu-0", { adminAccess: true })),
      claim("share-1", {}, has("gpu-1", share)),
      claim("share-2", {}, has("gpu-1", { shareID: share.shareID.replace("a", "b") })),
      { apiVersion: "v1", kind: "Namespace", metadata: adminSpace },
    ),
    [
      "item 6: ResourceClaim default/other: status.allocation.devices.results[0]: gpu.example.com/n/gpu-0 is allocated to claim default/one, too",
    ],
  );
});

test("a pod that is bound to a node that is not there", async () => {
  assert.deepEqual(await warned(pod("p", plain({ nodeName: "gone" }))), [
    "item 5: Pod default/p: spec.nodeName: the pod is bound to node gone, which is not among those given",
  ]);
});

test("of many warnings people see the first, programs all", async () => {
  const pods = Array.from({ length: 30 }, (_, i) => pod(`p-${i}`, plain({ nodeName: "gone" })));
  const { data, stderr } = await planned([...cluster, ...pods]);
  assert.equal(data.summary.warnings.length, 30);
  assert.equal(stderr.split("\n").length, 22);
  assert.match(stderr, /\nwarning: and 10 more warnings \(-o json has them all\)\n$/);
});
