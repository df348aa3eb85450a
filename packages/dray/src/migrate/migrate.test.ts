import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { featuresOf, newestKubernetesVersion, parseFeatureGates } from "@dray/api";
import { Random, seedOr } from "@dray/testing/random";
import { stringify } from "yaml";
import { problemText } from "../manifests/problem.ts";
import { readObjects } from "../manifests/read.ts";
import { Selectors } from "../manifests/selectors.ts";
import { sourceOf } from "../manifests/source.ts";
import { type MigrationOptions, migrate } from "./migrate.ts";
import { oldManifests } from "./testing.ts";

const folder = join(import.meta.dirname, "testdata");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

/** Migrates a text. Returns the result, with its notes as lines. */
function migrated(text: string, options?: MigrationOptions) {
  const { files, notes, errors } = migrate([{ file: "in", text }], options);
  assert.deepEqual(errors, []);
  const lines = notes.map(({ line, object, path, message }) => `${line}: ${object}: ${path}: ${message}`);
  return { text: files[0]!.text, notes: lines, changed: files[0]!.changed };
}

const cases = readdirSync(folder)
  .filter((name) => name.endsWith(".in.yaml"))
  .map((name) => name.slice(0, -".in.yaml".length));

for (const name of cases) {
  test(`manifests: ${name}`, () => {
    const { text, notes } = migrated(read(`${name}.in.yaml`));
    const found = {
      [`${name}.out.yaml`]: text,
      [`${name}.notes.txt`]: notes.map((line) => `${line}\n`).join(""),
    };
    for (const [file, content] of Object.entries(found)) {
      if (process.env["UPDATE"] !== undefined) writeFileSync(join(folder, file), content);
      assert.equal(content, read(file));
    }
    const again = migrated(text);
    assert.equal(again.changed, 0, "what is migrated is not migrated again");
    assert.equal(again.text, text);
  });
}

test("a text without anything to migrate stays as it is, byte by byte", () => {
  const text =
    "%YAML 1.1\n---\n# only this\n\n---   # odd\napiVersion:   v1\nkind: Pod\nspec: {containers:   []}\n...\n";
  assert.equal(migrated(text).text, text);
});

test("a LimitRange of an extended resource gets a note for each of its bounds and defaults", () => {
  const limits = [
    { type: "Container", max: { "nvidia.com/gpu": "2", cpu: "4" }, default: { "nvidia.com/gpu": "1" } },
    { type: "Container", min: { "example.com/unknown": "1" } },
  ];
  const range = { apiVersion: "v1", kind: "LimitRange", metadata: { name: "gpus" }, spec: { limits } };
  const { text, notes } = migrated(stringify(range));
  assert.equal(text, stringify(range));
  assert.deepEqual(notes, [
    "9: LimitRange gpus: spec.limits[0].max[nvidia.com/gpu]: stays, and limits nothing that claims take: a ResourceQuota counts devices of a class (gpu.nvidia.com.deviceclass.resource.k8s.io/devices)",
    "12: LimitRange gpus: spec.limits[0].default[nvidia.com/gpu]: remove it: it adds nvidia.com/gpu to containers that have a claim for class gpu.nvidia.com now",
  ]);
});

test("numbers, words and quotes stay as they were written beside what changes", () => {
  const odd =
    "a: 010\nb: 1.50\nc: 0x1F\nd: yes\ne: null\nf:\ng: 2001-01-01\nh: 12345678901234567890\ni: 'on'\n";
  const spec = "spec:\n  devices: {}\n  controller: gone\n";
  const { text } = migrated(`apiVersion: resource.k8s.io/v1alpha3\nkind: ResourceClaim\n${odd}${spec}`);
  assert.ok(text.includes(odd), text);
});

test("line ends, a byte order mark and comments at the ends stay", () => {
  const lines = [
    "\ufeff# first",
    "",
    "---  # head",
    "apiVersion: resource.k8s.io/v1beta2",
    "kind: DeviceClass",
    "metadata:",
    "  name: a",
    "# last of the document",
    "---",
    "# alone",
    "",
  ];
  const text = lines.join("\r\n");
  assert.equal(migrated(text).text, text.replace("v1beta2", "v1"));
});

test("JSON stays JSON, and what comes to it makes a list of it", () => {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "a", big: "SIZE" },
    spec: { containers: [{ name: "c", resources: { limits: { "nvidia.com/gpu": 1 } } }] },
  };
  const written = JSON.stringify(pod, null, 4).replace('"SIZE"', "9007199254740993");
  const { text } = migrated(written);
  assert.ok(text.includes("9007199254740993"), "a large number keeps its digits");
  assert.match(text, /^\{\n {4}"apiVersion": "v1",\n {4}"kind": "List"/);
  const list = JSON.parse(text) as {
    items: { kind: string; spec: { containers: { resources: object }[] } }[];
  };
  assert.deepEqual(
    list.items.map(({ kind }) => kind),
    ["Pod", "ResourceClaimTemplate"],
  );
  assert.deepEqual(list.items[0]!.spec.containers[0]!.resources, { claims: [{ name: "devices" }] });
});

test("classes, parameters and claims are found in other files", () => {
  const claim =
    "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaim\nmetadata:\n  name: c\nspec:\n  resourceClassName: k\n";
  const pod =
    "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: m\n    resources:\n      claims:\n      - name: x\n        request: r\n  resourceClaims:\n  - name: x\n    resourceClaimName: c\n";
  const { files } = migrate([
    { file: "pod", text: pod },
    { file: "claim", text: claim },
  ]);
  assert.doesNotMatch(files[0]!.text, /request: r/);
  assert.equal(migrated(pod).text, pod, "without the claim nothing is known about its requests");
});

test("the class of an extended resource: the user's before those of the manifests before the well-known", () => {
  const pod =
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: m\n    resources:\n      limits:\n        nvidia.com/gpu: 1\n";
  const own =
    "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: own\nspec:\n  extendedResourceName: nvidia.com/gpu\n---\n";
  assert.match(migrated(pod).text, /deviceClassName: gpu\.nvidia\.com/);
  assert.match(migrated(own + pod).text, /deviceClassName: own/);
  const deviceClasses = new Map([["nvidia.com/gpu", "mine"]]);
  assert.match(migrated(own + pod, { deviceClasses }).text, /deviceClassName: mine/);
});

test("a text that is not YAML is an error with its line, and the other files are read", () => {
  const { files, errors } = migrate([
    { file: "bad", text: "a: 1\n---\n# x\nb: [\n" },
    { file: "good", text: "a: 1\n" },
    { file: "bomb", text: bomb() },
  ]);
  assert.deepEqual(
    files.map(({ file }) => file),
    ["good"],
  );
  assert.deepEqual(
    errors.map(({ file, line }) => `${file}:${line}`),
    ["bad:5", "bomb:1"],
  );
  assert.match(errors[1]!.message, /aliases expand to more than 100000 values/);
});

/** A few hundred bytes whose aliases expand to a billion values. */
function bomb(): string {
  const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let i = 1; i < 9; i++)
    lines.push(
      `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(", ")}]`,
    );
  return `${lines.join("\n")}\n`;
}

test("the API server accepts what the cases become", () => {
  for (const name of cases) accept(migrated(read(`${name}.in.yaml`)).text, name);
});

test("the API server accepts what random manifests of all versions become, and nothing is migrated twice", () => {
  const seed = seedOr(20260101);
  const random = new Random(seed);
  for (let i = 0; i < 300; i++) {
    const written = oldManifests(random);
    const text = random.chance(0.3) ? JSON.stringify(written) : stringify(written);
    const result = migrated(text);
    accept(result.text, `seed ${seed}, text ${i}:\n${text}\n${result.text}`);
    assert.equal(migrated(result.text).changed, 0);
    assert.doesNotMatch(result.text, /nvidia\.com\/gpu|v1alpha|v1beta|ResourceClass\b|\bsource\b/);
  }
});

/** Fails if a server of the newest release would reject an object. */
function accept(text: string, what: string): void {
  // Excludes custom resources and quota of unknown resources.
  const features = featuresOf(newestKubernetesVersion, parseFeatureGates("DRADeviceTaintRules=true"));
  const options = {
    features,
    namespace: "default",
    selectors: new Selectors(features),
    now: "2026-01-01T00:00:00Z",
  };
  // Unchanged resources had an invalid count in one case.
  const known = text.replaceAll("amd.com/gpu: two", "amd.com/gpu: 2");
  const { problems } = readObjects({ sources: [sourceOf("out.yaml", known)], problems: [] }, options);
  assert.deepEqual(problems.map(problemText), [], what);
}
