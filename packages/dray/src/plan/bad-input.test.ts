import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { realTime } from "@dray/testing/eventually";
import { dray, inFolder, type Output, output, start } from "../testing/program.ts";
import {
  allocation,
  claim,
  gpuClass,
  type Manifest,
  node,
  type PlanData,
  plain,
  planFile,
  planned,
  pod,
  slice,
  usesClaim,
  usesTemplate,
} from "./testing.ts";

/** A text, or objects with one document each; and the expected message. */
type Mistakes = Record<string, readonly [input: string | readonly Manifest[], message: RegExp]>;

/** Texts that cannot be parsed: nothing is planned, since their objects are unknown. */
const unreadable: Mistakes = {
  "is no YAML": [
    "apiVersion: v1\n---\nkind: [Pod\n---\nhello: [\n",
    /^in:1, document 1: kind is missing\nin:4, document 2: is not YAML: did not find expected ',' or '\]'\nin:7, document 3: is not YAML: /,
  ],
  "is a chart's template": [
    "kind: Pod\nname: {{ .Values.name }}\n",
    /^in:2, document 1: is not YAML: .*\n {2}hint: a template of Helm is rendered first/,
  ],
  "is no object": [
    "hello, world",
    /^in:1, document 1: must be a Kubernetes object with apiVersion, kind and metadata, and is a string\n$/,
  ],
  "has no kind": ["# comment\napiVersion: v1", /^in:2, document 1: kind is missing\n$/],
  "has a kind that is no text": [
    "apiVersion: v1\nkind: [a]\n",
    /^in:2, document 1: kind must be a text, and is \["a"\]\n$/,
  ],
};

/** Objects that are left out of the plan. */
const objects: Mistakes = {
  "has a word that is a boolean": [
    "apiVersion: v1\nkind: Node\nmetadata:\n  name: y",
    /^in:4, document 1: Node: Node in version "v1" .*ObjectMeta.metadata.name of type string\n {2}hint: y, n, yes, no, on and off are booleans in YAML: put them in quotes\n$/,
  ],
  "has an unknown version": [
    [{ apiVersion: "resource.k8s.io/v9", kind: "ResourceClaim", metadata: { name: "c" } }],
    /^in:1, document 1: ResourceClaim default\/c: no matches for kind "ResourceClaim" in version "resource.k8s.io\/v9": known are .*\/v1,/,
  ],
  "has an unknown kind": [
    "apiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: d}\n",
    /^in:2, document 1: Deploymnt d: no matches for kind "Deploymnt" in version "apps\/v1"\n {2}hint: did you mean Deployment\?\n$/,
  ],
  "has a field of the wrong type": [
    [node("n"), pod("p", { containers: "none" })],
    /^in:3, document 2: Pod default\/p: Pod in version "v1" cannot be handled as a Pod: .*PodSpec.*containers/,
  ],
  "has unknown fields": [
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: i\n    limits: {}\n  resourceClaim: []\n",
    /^in:8, document 1: Pod default\/p: unknown field "spec.containers\[0\].limits"\n {2}hint: the field belongs at spec\.containers\[0\]\.resources\.limits\nin:9, document 1: Pod default\/p: unknown field "spec.resourceClaim"\n {2}hint: did you mean resourceClaims\?\n$/,
  ],
  "has a field of another release": [
    [{ ...node("n"), spec: { frobnicated: 1 } }],
    /^in:1, document 1: Node n: unknown field "spec.frobnicated"\n$/,
  ],
  "has a key twice": [
    "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  name: b\n",
    /^in:5, document 1: Node b: key "name" already set in map\n$/,
  ],
  "is a claim that validation refuses twice": [
    [claim("negative", { count: -1, deviceClassName: "A" })],
    /^in:1, document 1: ResourceClaim default\/negative: spec.devices.requests\[0\].exactly.deviceClassName: Invalid value: "A": .*\nin:1, document 1: ResourceClaim default\/negative: spec.devices.requests\[0\].exactly.count: Invalid value: -1: must be greater than zero\n$/,
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
    /^in:1, document 1: .* status.allocation.devices.results\[0\].request: Invalid value: "x"/,
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
    /^in:3, document 2: Pod default\/object-name: spec.containers\[0\].resources.claims\[0\]: Not found: "object-name".*\n +hint: container c names the ResourceClaim "object-name"; the pod's own name for it is "gpu"\n$/,
  ],
  "has an object that was given before": [
    [node("twice"), node("twice"), node("twice", { labels: { a: "b" } })],
    /^in:5, document 3: Node twice: was given before, and differs: in:1, document 1\n$/,
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
    /^in:1, document 1: Job default\/j: spec.template.spec.containers\[0\].name: Invalid value: "C"/,
  ],
};

/** Writes the inputs as files of a folder, and plans it. */
async function planOf(mistakes: Mistakes, ...flags: string[]): Promise<Output & { readonly said: string[] }> {
  let result: (Output & { readonly said: string[] }) | undefined;
  await inFolder(async (folder) => {
    const cases = Object.values(mistakes);
    cases.forEach(([input], i) => {
      const text =
        typeof input === "string" ? input : input.map((each) => JSON.stringify(each)).join("\n---\n");
      writeFileSync(join(folder, `${i}-in.yaml`), `${text}\n`);
    });
    const output = await dray(["plan", "-f", folder, ...flags]);
    const lines = output.stderr.replaceAll(`${folder}/`, "").split(/^(?:error|warning): /m);
    const said = cases.map((_, i) =>
      lines
        .filter((line) => line.startsWith(`${i}-in.yaml`))
        .join("")
        .replaceAll(`${i}-in.yaml`, "in"),
    );
    result = { ...output, said };
  });
  return result!;
}

function assertSaid(said: readonly string[], mistakes: Mistakes): void {
  Object.entries(mistakes).forEach(([title, [, message]], i) => {
    assert.match(said[i] ?? "", message, title);
  });
}

test("texts that cannot be read: all mistakes of all files, exit code 1, and no plan", async () => {
  const all = { ...unreadable, ...objects };
  const { code, stdout, said } = await planOf(all, "-o", "json");
  assert.deepEqual([code, stdout], [1, ""]);
  assertSaid(said, all);
});

test("objects with mistakes are left out with their mistakes, the rest is planned, exit code 1", async () => {
  const well = { "is well": [[node("well"), pod("well", plain({ nodeSelector: {} }))], /^$/] } as const;
  const all: Mistakes = { ...objects, ...well };
  const [text, json] = await Promise.all([planOf(all), planOf(all, "-o", "json")]);
  assertSaid(text.said, all);
  assert.deepEqual([text.code, json.code], [1, 1]);
  assert.match(text.stdout, /\ndefault\/well +fits +/);
  assert.match(text.stdout, /\ndefault\/p +refused +- +-\n/);
  assert.match(text.stdout, /\nJob default\/j +refused +- +-\n/);
  assert.match(text.stdout, /; 12 objects left out because of mistakes\n$/);
  const { pods, summary } = JSON.parse(json.stdout) as PlanData;
  assert.deepEqual(
    pods.map(({ name, status }) => [name, status]),
    [["well", "fits"]],
  );
  assert.equal(summary.leftOut, 12);
  const unknown = summary.errors.find(({ path }) => path === "spec.resourceClaim");
  const { file, ...rest } = unknown!;
  assert.match(file, /4-in.yaml$/);
  assert.deepEqual(rest, {
    rule: "unknown-field",
    document: 1,
    line: 9,
    object: "Pod default/p",
    path: "spec.resourceClaim",
    message: 'unknown field "spec.resourceClaim"',
    hints: ["did you mean resourceClaims?"],
  });
});

const gpus = (name: string, devices: number | readonly object[], pool: object, ...more: string[]): Manifest =>
  slice(name, devices, pool, ...more);
const pools: Mistakes = {
  "is incomplete": [
    [gpus("a", 1, { generation: 3, resourceSliceCount: 2 })],
    /^in:1, document 1: pool gpu.example.com\/a is incomplete: its slices say that generation 3 has 2 of them \(resourceSliceCount\), and 1 is given: a-gpus: its devices are not used\n$/,
  ],
  "has a device twice": [
    [node("b"), gpus("b", 1, { resourceSliceCount: 2 }), gpus("b", 1, { resourceSliceCount: 2 }, "more")],
    /^in:5, document 3: pool gpu.example.com\/b is invalid: it has two devices with the name gpu-0: the other is in in:3, document 2: /,
  ],
  "has slices that disagree": [
    [gpus("c", 1, { resourceSliceCount: 2 }), gpus("c", [], { resourceSliceCount: 3 }, "less")],
    /^in:1, document 1: pool gpu.example.com\/c is invalid: .* disagree on resourceSliceCount: 2 \(in:1, document 1\), 3 \(in:3, document 2\): /,
  ],
  "has a device that consumes what there is not": [
    [
      gpus(
        "d",
        [{ name: "d", consumesCounters: [{ counterSet: "gpu-0", counters: { memory: { value: "1Gi" } } }] }],
        {},
      ),
    ],
    /^in:1, document 1: pool gpu.example.com\/d is invalid: device d consumes from counter set gpu-0, which no slice has: there are none: /,
  ],
  "is complete": [[node("e"), slice("e", 1), gpuClass, claim("c"), pod("p", usesClaim("c"))], /^$/],
};

test("pools that cannot be used are warned of, and pods get devices of the others, as in a cluster", async () => {
  const { code, stdout, said } = await planOf(pools);
  assertSaid(said, pools);
  assert.equal(code, 0);
  assert.match(stdout, /\ndefault\/p +fits +e +gpu.example.com\/e\/gpu-0\n/);
});

const deployment = (name: string, spec: object): Manifest => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas: 2,
    selector: { matchLabels: { a: name } },
    template: { metadata: { labels: { a: name } }, spec },
  },
});

test("a pod that names what is missing waits as in a cluster, and its row says what there is", async () => {
  const priority = plain({ priorityClassName: "high" });
  const objects = [
    node("n"),
    claim("other"),
    { ...claim("elsewhere"), metadata: { name: "elsewhere", namespace: "tools" } },
    // Made for a pod: other pods cannot use it.
    {
      ...claim("made"),
      metadata: {
        name: "made",
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "u", controller: true }],
      },
    },
    claim("classless", { deviceClassName: "gpuu" }),
    gpuClass,
    pod("no-claim", usesClaim("othr")),
    pod("wrong-namespace", usesClaim("elsewhere")),
    deployment("no-template", usesTemplate("t")),
    pod("no-class", usesClaim("classless")),
    pod("no-priority", priority),
    deployment("priority", priority),
    pod("well", plain()),
  ];
  const { data, code } = await planned(objects);
  assert.equal(code, 1);
  const rows = data.pods.map(({ name, status, reason, hints }) => [name, status, reason, ...hints]);
  assert.deepEqual(rows, [
    [
      "no-claim",
      "pending",
      'resourceclaim "othr" not found',
      'spec.resourceClaims[0].resourceClaimName: there is no ResourceClaim "othr" in namespace default (known: other, classless); did you mean other?',
    ],
    [
      "wrong-namespace",
      "pending",
      'resourceclaim "elsewhere" not found',
      'spec.resourceClaims[0].resourceClaimName: there is no ResourceClaim "elsewhere" in namespace default (known: other, classless); there is one in namespace tools',
    ],
    ...["no-template-0", "no-template-1"].map((name) => [
      name,
      "pending",
      `pod "default/${name}": ResourceClaim not created yet`,
      'spec.template.spec.resourceClaims[0].resourceClaimTemplateName: there is no ResourceClaimTemplate "t" in namespace default',
    ]),
    [
      "no-class",
      "does not fit",
      "0/1 nodes are available: request gpu: device class gpuu does not exist.",
      'claim classless: there is no DeviceClass "gpuu" (known: gpu); did you mean gpu?',
    ],
    ...["no-priority", "priority-0", "priority-1"].map((name) => [
      name,
      "refused",
      `pods "${name}" is forbidden: no PriorityClass with name high was found`,
      `${name === "no-priority" ? "spec" : "spec.template.spec"}.priorityClassName: "high": there are system-cluster-critical, system-node-critical`,
    ]),
    ["well", "fits", null],
  ]);
  const { placed, unplaced, pending, refused } = data.summary;
  assert.deepEqual([placed, unplaced, pending, refused], [1, 1, 4, 3]);
  const { stdout } = await planFile(objects);
  assert.match(stdout, /\ndefault\/no-claim: resourceclaim "othr" not found\n {2}spec.resourceClaims\[0\]/);
  assert.match(stdout, /\n9 pods on 1 node: 1 fits, 1 does not fit, 4 pending, 3 refused\n$/);
});

test("a pod that runs although its claim is missing is warned of", async () => {
  const { data } = await planned([node("n"), pod("b", { ...usesClaim("gone"), nodeName: "n" })]);
  assert.equal(data.pods[0]?.status, "bound");
  assert.match(
    data.summary.warnings[0] ?? "",
    /item 2: Pod default\/b: spec.*there is no ResourceClaim "gone"/,
  );
});

test("old generations of slices, and pools of one name on different nodes, are not errors", async () => {
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
      ["text.json", /text.json:1: is not JSON: /],
      ["comment.yaml", /comment.yaml: there are no objects in it\n$/],
    ];
    const together = await dray(["plan", ...cases.flatMap(([file]) => ["-f", join(folder, file)])]);
    assert.equal(together.stderr.match(/^error: /gm)?.length, 4, together.stderr);
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
      ["plan", /name manifests with -f, or a cluster with --live, --kubeconfig or --context/],
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
    const child = start(["plan", "-f", "-"], {}, { stdin: reading });
    const done = output(child);
    await realTime(1000, "nothing says that the command has begun to read");
    writeSync(writing, JSON.stringify(node("n")));
    closeSync(writing);
    closeSync(reading);
    const { code, stdout, stderr } = await done;
    assert.deepEqual([code, stdout, stderr], [0, "0 pods on 1 node\n", ""]);
  });
});
