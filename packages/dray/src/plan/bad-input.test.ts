import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { dray, inFolder, output, start } from "../testing.ts";
import {
  allocation,
  claim,
  gpuClass,
  type Manifest,
  node,
  plain,
  pod,
  slice,
  usesClaim,
  usesTemplate,
} from "./testing.ts";

/** A text, or objects one document each; and what is said of it. */
type Mistakes = Record<string, readonly [input: string | readonly Manifest[], message: RegExp]>;

const objects: Mistakes = {
  "is no YAML": ["apiVersion: v1\n---\nkind: [Pod\n", /^in, document 2: is not YAML: line \d/],
  "is no object": [
    "hello, world",
    /^in, document 1: must be a Kubernetes object with apiVersion, kind and metadata, and is a string\n$/,
  ],
  "has a word that is a boolean": [
    "{apiVersion: v1, kind: Node, metadata: {name: y}}",
    /ObjectMeta.metadata.name of type string\n {2}hint: y, n, yes, no, on and off are booleans in YAML: put them in quotes\n$/,
  ],
  "has no kind": ["apiVersion: v1", /^in, document 1: kind is missing\n$/],
  "has an unknown version": [
    [{ apiVersion: "resource.k8s.io/v9", kind: "ResourceClaim", metadata: { name: "c" } }],
    /^in, document 1: no matches for kind "ResourceClaim" in version "resource.k8s.io\/v9": known are .*\/v1,/,
  ],
  "has a field of the wrong type": [
    [node("n"), pod("p", { containers: "none" })],
    /^in, document 2: Pod in version "v1" cannot be handled as a Pod: .*PodSpec.*containers/,
  ],
  "has an unknown field": [
    [pod("p", plain({ resourceClaim: [] }))],
    /^in, document 1: Pod p: unknown field "spec.resourceClaim"\n$/,
  ],
  "has a key twice": [
    "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  name: b\n",
    /^in, document 1: Node b: line 5: key "name" already set in map\n$/,
  ],
  "is a claim that validation refuses": [
    [claim("negative", { count: -1 })],
    /^in, document 1: ResourceClaim.resource.k8s.io "negative" is invalid: spec.devices.requests\[0\].exactly.count: Invalid value: -1: must be greater than zero\n$/,
  ],
  "is a claim whose allocation validation refuses": [
    [
      claim(
        "other",
        {},
        {
          status: {
            allocation: { devices: { results: [{ request: "x", driver: "d", pool: "p", device: "e" }] } },
          },
        },
      ),
    ],
    /^in, document 1: .* status.allocation.devices.results\[0\].request: Invalid value: "x"/,
  ],
  "has a selector that does not compile": [
    [claim("typo", { selectors: [{ cel: { expression: 'device.attributes["a.com/b"] > 20' } }] })],
    /found no matching overload for '_>_'.*\n(?:.*\n)+ +hint: .*device\.attributes\["a\.com"\]/,
  ],
  "has a container that names the claim's object": [
    [
      claim("object-name"),
      pod("object-name", {
        containers: [{ name: "c", image: "i", resources: { claims: [{ name: "object-name" }] } }],
        resourceClaims: [{ name: "gpu", resourceClaimName: "object-name" }],
      }),
    ],
    /^in, document 2: Pod "object-name" is invalid: .*Not found: "object-name".*\n +hint: container c names the ResourceClaim "object-name"; the pod's own name for it is "gpu"\n$/,
  ],
  "has an object that was given before": [
    [node("twice"), node("twice"), node("twice", { labels: { a: "b" } })],
    /^in, document 3: Node twice was given before, and differs: in, document 1\n$/,
  ],
  "is a job whose template validation refuses": [
    [
      {
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name: "j" },
        spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "C", image: "i" }] } } },
      },
    ],
    /^in, document 1: Job.batch "j" is invalid: spec.template.spec.containers\[0\].name: Invalid value: "C"/,
  ],
};

const pools: Mistakes = {
  "is incomplete": [
    [slice("a", 1, { generation: 3, resourceSliceCount: 2 })],
    /^in, document 1: pool gpu.example.com\/a is incomplete: its slices say that generation 3 has 2 of them \(resourceSliceCount\), and 1 is given: a-gpus\n$/,
  ],
  "has a device twice": [
    [node("b"), slice("b", 1, { resourceSliceCount: 2 }), slice("b", 1, { resourceSliceCount: 2 }, "more")],
    /^in, document 2 and in, document 3: pool gpu.example.com\/b is invalid: it has two devices with the name gpu-0\n$/,
  ],
  "has slices that disagree": [
    [slice("c", 1, { resourceSliceCount: 2 }), slice("c", [], { resourceSliceCount: 3 }, "less")],
    /^in, document 1: pool gpu.example.com\/c is invalid: .* disagree on resourceSliceCount: 2 \(in, document 1\), 3 \(in, document 2\)\n$/,
  ],
  "has a device that consumes what there is not": [
    [
      slice("d", [
        { name: "d", consumesCounters: [{ counterSet: "gpu-0", counters: { memory: { value: "1Gi" } } }] },
      ]),
    ],
    /^in, document 1: pool gpu.example.com\/d is invalid: device d consumes from counter set gpu-0, which no slice has: there are none\n$/,
  ],
};

const names: Mistakes = {
  "names a claim that is missing": [
    [claim("other"), pod("a", usesClaim("missing"))],
    /^in, document 2: Pod default\/a: spec.resourceClaims\[0\].resourceClaimName: there is no ResourceClaim "missing" in namespace default: given are other\n$/,
  ],
  "names a template that is missing": [
    [
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "d" },
        spec: {
          replicas: 2,
          selector: { matchLabels: { a: "b" } },
          template: { metadata: { labels: { a: "b" } }, spec: usesTemplate("t") },
        },
      },
    ],
    /^in, document 1: Deployment default\/d: spec.template.spec.resourceClaims\[0\].resourceClaimTemplateName: there is no ResourceClaimTemplate "t" in namespace default: none is given\n$/,
  ],
  "names a claim that is missing, and runs": [
    [pod("b", { ...usesClaim("gone"), nodeName: "n" })],
    /^in, document 1: Pod default\/b: .* there is no ResourceClaim "gone"/,
  ],
  "names a priority class that is missing": [
    [pod("c", plain({ priorityClassName: "high" }))],
    /^in, document 1: Pod default\/c is forbidden: spec: no PriorityClass with name high was found; there are system-cluster-critical/,
  ],
};

for (const [what, mistakes] of Object.entries({ input: objects, "a pool": pools, "a pod": names })) {
  test(`${what} that is wrong: a precise message for each mistake, exit code 1, and nothing else`, async () => {
    await inFolder(async (folder) => {
      const cases = Object.entries(mistakes);
      cases.forEach(([, [input]], i) => {
        const text =
          typeof input === "string" ? input : input.map((each) => JSON.stringify(each)).join("\n---\n");
        writeFileSync(join(folder, `${i}-in.yaml`), `${text}\n`);
      });
      const { code, stdout, stderr } = await dray(["plan", "-f", folder, "-o", "json"]);
      assert.deepEqual([code, stdout], [1, ""]);
      const said = stderr
        .replaceAll(`${folder}/`, "")
        .split(/^error: /m)
        .slice(1);
      assert.equal(said.length, cases.length, stderr);
      for (const [i, [title, [, message]]] of cases.entries()) {
        const text = said.find((each) => each.startsWith(`${i}-in.yaml`))?.replaceAll(`${i}-in.yaml`, "in");
        assert.match(text ?? "", message, title);
      }
    });
  });
}

test("slices that are on their way out, and names that no node sees twice, are no mistake", async () => {
  await inFolder(async (folder) => {
    const objects = [
      node("n"),
      node("m"),
      slice("n", 1, { name: "shared", generation: 1, resourceSliceCount: 7 }, "old"),
      slice("n", 1, { name: "shared", generation: 2, resourceSliceCount: 2 }),
      slice("m", 1, { name: "shared", generation: 2, resourceSliceCount: 2 }),
      gpuClass,
      claim("c", {}, { status: { allocation: { ...allocation("m", "gpu-0") } } }),
    ];
    writeFileSync(join(folder, "in"), objects.map((each) => JSON.stringify(each)).join("\n---\n"));
    const { code, stderr } = await dray(["plan", "-f", join(folder, "in")]);
    assert.deepEqual([code, stderr], [0, ""]);
  });
});

test("files that cannot be read are named", async () => {
  await inFolder(async (folder) => {
    mkdirSync(join(folder, "empty"));
    writeFileSync(join(folder, "binary.yaml"), Buffer.from([0xff, 0xfe, 0x00, 0xc3]));
    writeFileSync(join(folder, "text.json"), "{ not json");
    writeFileSync(join(folder, "comment.yaml"), "# nothing\n---\n");
    const cases: [string, RegExp][] = [
      ["missing.yaml", /missing.yaml: there is no such file or directory\n$/],
      ["empty", /empty: the directory has no files that end in .yaml, .yml or .json/],
      ["binary.yaml", /binary.yaml: is not YAML or JSON: its bytes are not UTF-8 text/],
      ["text.json", /text.json: is not JSON: /],
      ["comment.yaml", /there are no objects in .*comment.yaml\n$/],
    ];
    const outputs = await Promise.all(cases.map(([file]) => dray(["plan", "-f", join(folder, file)])));
    for (const [i, [, message]] of cases.entries()) {
      const { code, stdout, stderr } = outputs[i]!;
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, message);
    }
  });
});

test("wrong usage exits with 2", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "n.json");
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: [node("a"), node("b")] }));
    const cases: [string, RegExp][] = [
      ["plan", /required option '-f, --filename <file>' not specified/],
      ["plan -f - -f -", /-f -: standard input can be read only once/],
      [`plan -f ${file} --add-nodes some`, /--add-nodes some: must be a whole number from 1 to 10000/],
      [`plan -f ${file} --like a`, /--like needs --add-nodes COUNT or --add-nodes auto/],
      [`plan -f ${file} --add-nodes 1`, /--add-nodes needs --like NODE: must be one of a, b/],
      [`plan -f ${file} --add-nodes 1 --like c`, /--like c: must be one of a, b/],
      [`plan -f ${file} --feature-gates Frob=true`, /--feature-gates: .*Frob/],
    ];
    const outputs = await Promise.all(cases.map(([line]) => dray(line.split(" "))));
    for (const [i, [line, message]] of cases.entries()) {
      const { code, stdout, stderr } = outputs[i]!;
      assert.deepEqual([code, stdout], [2, ""], line);
      assert.match(stderr, message);
    }
  });
});

test("standard input that was set not to block is waited for, as kubectl leaves it", {
  skip: process.platform === "win32" && "needs named pipes",
}, async () => {
  await inFolder(async (folder) => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const reading = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const writing = openSync(pipe, constants.O_WRONLY);
    const child = start(["plan", "-f", "-"], {}, false, reading);
    const done = output(child);
    // Long after the command has begun to read.
    await setTimeout(1000);
    writeSync(writing, JSON.stringify(node("n")));
    closeSync(writing);
    closeSync(reading);
    const { code, stdout, stderr } = await done;
    assert.deepEqual([code, stdout, stderr], [0, "0 pods on 1 node\n", ""]);
  });
});
