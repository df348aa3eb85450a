import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { heldClaim } from "../inventory/testing.ts";
import { type Schema, violations } from "../observe/json-schema.ts";
import { gpuClass, type Manifest, node, pod, slice, usesClaim } from "../plan/testing.ts";
import type { Explained } from "./data.ts";
import { explainText } from "./print.ts";
import { explained, now } from "./testing.ts";

const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../schema/explain.json"), "utf8"),
) as Schema;

const rule = (effect: string, deviceSelector?: object, more: object = {}): Manifest => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceTaintRule",
  metadata: { name: "repair" },
  spec: {
    ...(deviceSelector && { deviceSelector }),
    taint: { key: "repair", effect, timeAdded: "2026-01-01T00:59:00Z", ...more },
  },
});

const running = (name: string, spec: object, more: object = {}): Manifest =>
  pod(name, { nodeName: "a", ...spec }, { uid: `uid-of-${name}` }, { status: { phase: "Running", ...more } });

const tolerating = (toleration: object): object => ({
  exactly: { tolerations: [{ operator: "Exists", ...toleration }] },
  result: { tolerations: [{ operator: "Exists", ...toleration }] },
});

/** The pod has its device as an extended resource: no claim is in its spec. */
const extended = running(
  "extended",
  { containers: [{ name: "main", image: "main:v1", resources: { limits: { "example.com/gpu": "1" } } }] },
  {
    extendedResourceClaimStatus: {
      resourceClaimName: "made",
      requestMappings: [{ containerName: "main", resourceName: "example.com/gpu", requestName: "gpu" }],
    },
  },
);

const made = {
  ...heldClaim("made", ["a/gpu-3"], ["extended"]),
  metadata: {
    name: "made",
    ownerReferences: [
      { apiVersion: "v1", kind: "Pod", name: "extended", uid: "uid-of-extended", controller: true },
    ],
  },
};

const objects: readonly Manifest[] = [
  node("a"),
  node("b"),
  slice("a", 4),
  slice("b", 1),
  gpuClass,
  running("first", usesClaim("c0")),
  heldClaim("c0", ["a/gpu-0"], ["first"]),
  running("patient", usesClaim("c1")),
  heldClaim("c1", ["a/gpu-1"], ["patient"], tolerating({ tolerationSeconds: 300 })),
  running("stays", usesClaim("c2")),
  heldClaim("c2", ["a/gpu-2"], ["stays"], tolerating({})),
  // Not reserved for it: it is not evicted.
  running("other", usesClaim("c0")),
  extended,
  made,
];

const preview = (given: Manifest, all: readonly Manifest[] = objects): Promise<Explained> =>
  explained("devicetaintrule/repair", [...all, given]);

const brief = ({ evictions = [] }: Explained): string[] =>
  evictions.map(({ pod: name, until, devices }) => `${name} ${devices.join()} ${until ?? "stays"}`);

test("a rule says which devices it taints, and which pods go when", async () => {
  const found = await preview(rule("NoExecute", { driver: "gpu.example.com", pool: "a" }));
  assert.equal(found.summary, "DeviceTaintRule repair taints 4 devices and ends 3 pods");
  assert.equal(found.state, "evicts");
  assert.deepEqual(
    found.devices.map(({ name, state }) => `${name} ${state}`),
    ["gpu-0 allocated", "gpu-1 allocated", "gpu-2 allocated", "gpu-3 allocated"],
  );
  assert.deepEqual(brief(found), [
    "default/first gpu.example.com/a/gpu-0 2026-01-01T00:59:00.000Z",
    "default/extended gpu.example.com/a/gpu-3 2026-01-01T00:59:00.000Z",
    "default/patient gpu.example.com/a/gpu-1 2026-01-01T01:04:00.000Z",
    "default/stays gpu.example.com/a/gpu-2 stays",
  ]);
  assert.deepEqual(violations(schema, found), []);
  const text = explainText(found, now);
  assert.match(text, /^default\/first +a +at once +gpu.example.com\/a\/gpu-0 +default\/c0$/m);
  assert.match(text, /^default\/patient +a +at 2026-01-01T01:04:00Z \(tolerated 300s\)/m);
  assert.match(text, /^default\/stays +a +never: tolerated/m);
});

test("with an effect that ends no pod it says which it would end with NoExecute", async () => {
  const selector = { driver: "gpu.example.com", pool: "a", device: "gpu-0" };
  const repelling = await preview(rule("NoSchedule", selector));
  assert.equal(
    repelling.summary,
    "DeviceTaintRule repair keeps new claims from 1 device and ends no pod; with effect NoExecute it would end 1 pod",
  );
  const idle = await preview(rule("None", selector));
  assert.equal(
    idle.summary,
    "DeviceTaintRule repair selects 1 device and does nothing; with effect NoExecute it would end 1 pod",
  );
  for (const each of [repelling, idle]) assert.deepEqual(brief(each), brief(repelling));
  assert.match(explainText(idle, now), /^Pods with these devices, with effect NoExecute$/m);
});

test("an empty selector selects every device, and no selector none", async () => {
  const all = await preview(rule("None", {}));
  assert.equal(all.devices.length, 5);
  assert.deepEqual(all.facts[1], {
    name: "selects",
    value: "every device of every driver: its deviceSelector is empty",
  });
  const nothing = await preview(rule("NoExecute"));
  assert.deepEqual([nothing.devices, nothing.evictions], [[], []]);
  assert.match(explainText(nothing, now), /No pod has one of these devices/);
});

test("a rule that is not stored yet counts from now on; its devices are shown as they are without it", async () => {
  const fresh = rule("NoExecute", { pool: "b" }, { timeAdded: undefined });
  const found = await preview(fresh, [
    ...objects,
    running("late", usesClaim("d")),
    heldClaim("d", ["b/gpu-0"], ["late"], tolerating({ tolerationSeconds: 60 })),
  ]);
  // Manifests of tests are read at midnight.
  assert.equal(found.evictions?.[0]?.until, "2026-01-01T00:01:00.000Z");
  const free = await preview(fresh);
  assert.deepEqual(
    free.devices.map(({ state }) => state),
    ["free"],
  );
});
