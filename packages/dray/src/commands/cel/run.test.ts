import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { dray, inFolder, output, start } from "../../testing/program.ts";

const model = 'device.attributes["gpu.example.com"].model';
const examples = join(import.meta.dirname, "../../../../../examples/plan/cluster.yaml");

test("check tells type and cost, for people and for programs", async () => {
  const [text, json, yaml] = await Promise.all([
    dray(["cel", "check", `${model} == "a100"`]),
    dray(["cel", "check", `${model} == "a100"`, "-o", "json"]),
    dray(["cel", "check", model, "-o", "yaml"]),
  ]);
  assert.deepEqual([text.code, text.stderr], [0, ""]);
  assert.match(text.stdout, /^type +bool\ncost +5 at most, of 1000000\n/);
  const { reads: _, ...data } = JSON.parse(json.stdout) as Record<string, unknown>;
  const expression = `${model} == "a100"`;
  assert.deepEqual(data, {
    expression,
    valid: true,
    type: "bool",
    maxCost: 5,
    costLimit: 1_000_000,
    warnings: [],
  });
  const other = parse(yaml.stdout) as Record<string, unknown>;
  assert.deepEqual([other["type"], other["maxCost"]], ["dyn", 4]);
});

test("check says what is wrong with a caret and what was probably meant; exit code 1", async () => {
  const expression = 'device.attributes["vendor.com/vram-gb"] > 20';
  const [text, json] = await Promise.all([
    dray(["cel", "check", expression]),
    dray(["cel", "check", expression, "-o", "json"]),
  ]);
  assert.deepEqual([text.code, text.stdout], [1, ""]);
  const lines = text.stderr.split("\n");
  assert.match(
    lines[0] ?? "",
    /^error: compilation failed: ERROR: <input>:1:41: found no matching overload for '_>_'/,
  );
  assert.deepEqual(lines.slice(1, 3), [` | ${expression}`, ` | ${".".repeat(40)}^`]);
  assert.match(lines[3] ?? "", /^hint: .*device\.attributes\["vendor\.com"\]\["vram-gb"\]/);
  const data = JSON.parse(json.stdout) as { valid: boolean; error: string; hints: string[] };
  assert.equal(json.code, 1);
  assert.equal(data.valid, false);
  assert.equal(`error: ${data.error}\nhint: ${data.hints[0]}\n`, text.stderr);
});

test("what costs too much or is too long is refused, as the API server would", async () => {
  const costly = `[1,2,3,4,5,6,7,8,9,10]${".all(a, [1,2,3,4,5,6,7,8,9,10]".repeat(7)}.all(b, b > 0)${")".repeat(7)}`;
  const [cost, long] = await Promise.all([
    dray(["cel", "check", costly]),
    dray(["cel", "check", `${" ".repeat(10_240)}true`]),
  ]);
  assert.deepEqual([cost.code, long.code], [1, 1]);
  assert.match(
    cost.stderr,
    /^error: too complex: its estimated cost is \d+, and may be no more than 1000000\n/,
  );
  assert.match(long.stderr, /^error: too long: it has 10244 bytes, and may have no more than 10240\n/);
});

test("--new goes by the gates of the release; without it all that a server may have stored is known", async () => {
  const expression = `${model}.includes("a")`;
  const check = (...flags: string[]): ReturnType<typeof dray> => dray(["cel", "check", expression, ...flags]);
  const outputs = await Promise.all([
    check(),
    check("--new"),
    check("--new", "--feature-gates", "DRAListTypeAttributes=true"),
    check("--new", "--kubernetes-version", "1.35", "--feature-gates", "DRAListTypeAttributes=true"),
  ]);
  assert.deepEqual(
    outputs.map(({ code }) => code),
    [0, 1, 0, 2],
  );
});

test("eval tells for each device whether it matches, and what that costs", async () => {
  const args = ["cel", "eval", `${model} == "L4"`, "-f", examples];
  const [text, json] = await Promise.all([dray(args), dray([...args, "-o", "json"])]);
  assert.deepEqual([text.code, text.stderr], [0, ""]);
  assert.match(text.stdout, /^DEVICE +MATCHES +COST +ERROR\n/);
  assert.match(text.stdout, /\ngpu.example.com\/node-1\/gpu-0 +no +5\n/);
  assert.match(text.stdout, /\ngpu.example.com\/node-2\/gpu-1 +yes +5\n/);
  assert.match(text.stdout, /\n2 of 4 devices match\n$/);
  const data = JSON.parse(json.stdout) as { devices: unknown[]; summary: unknown };
  assert.deepEqual(data.summary, { devices: 4, matched: 2, failed: 0 });
  assert.deepEqual(data.devices[3], {
    driver: "gpu.example.com",
    pool: "node-2",
    device: "gpu-1",
    slice: "node-2-gpu.example.com",
    matches: true,
    error: null,
    cost: 5,
  });
});

test("eval tells on which devices an expression fails; exit code 1", async () => {
  await inFolder(async (folder) => {
    // One slice of a pool is enough to ask about its devices.
    const slice = {
      apiVersion: "resource.k8s.io/v1beta1",
      kind: "ResourceSlice",
      metadata: { name: "s" },
      spec: {
        driver: "gpu.example.com",
        nodeName: "n",
        pool: { name: "n", generation: 1, resourceSliceCount: 9 },
        devices: [
          { name: "a", basic: { attributes: { model: { string: "L4" } } } },
          { name: "b", basic: {} },
        ],
      },
    };
    const child = start(["cel", "eval", `${model} == "L4"`, "-f", "-"], {}, false, "pipe");
    child.stdin?.end(JSON.stringify(slice));
    const { code, stdout } = await output(child);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /\ngpu.example.com\/n\/a +yes +5\ngpu.example.com\/n\/b +error +\d+ +no such key: model/,
    );
    assert.match(stdout, /\n1 of 2 devices match, 1 in error: /);
    writeFileSync(join(folder, "none.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: here}\n");
    const none = await dray(["cel", "eval", "true", "-f", join(folder, "none.yaml")]);
    assert.deepEqual([none.code, none.stdout], [1, ""]);
    assert.match(none.stderr, /^error: there is no ResourceSlice/);
  });
});

test("both have their own help with an example, and an unknown one is wrong usage", async () => {
  const outputs = await Promise.all(
    [
      ["cel", "check", "--help"],
      ["cel", "eval", "--help"],
      ["cel", "frob"],
      ["cel", "check"],
    ].map((args) => dray(args)),
  );
  assert.deepEqual(
    outputs.map(({ code }) => code),
    [0, 0, 2, 2],
  );
  assert.match(outputs[0]!.stdout, /Example:\n {2}dray cel check /);
  assert.match(outputs[1]!.stdout, /Example:\n.*\n {2}dray cel eval /);
});

test("of very many devices the first of each answer are listed; programs get all", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "slices.json");
    const items = ["a", "b"].map((name) => ({
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceSlice",
      metadata: { name },
      spec: {
        driver: "gpu.example.com",
        nodeName: name,
        pool: { name, generation: 1, resourceSliceCount: 1 },
        devices: Array.from({ length: 60 }, (_, i) => ({ name: `d-${i}`, attributes: { i: { int: i } } })),
      },
    }));
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    const expression = 'device.attributes["gpu.example.com"].i < 50';
    const [text, json] = await Promise.all([
      dray(["cel", "eval", expression, "-f", file]),
      dray(["cel", "eval", expression, "-f", file, "-o", "json"]),
    ]);
    const lines = text.stdout.split("\n").map((line) => line.split(/ {3,}/));
    assert.deepEqual(
      lines.filter(([first]) => first?.startsWith("...")),
      [
        ["... and 90 more", "yes"],
        ["... and 10 more", "no"],
      ],
    );
    assert.equal(lines.length, 1 + 11 + 11 + 3);
    assert.equal((JSON.parse(json.stdout) as { devices: unknown[] }).devices.length, 120);
  });
});

const manifests = `apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
  selectors:
  - cel:
      expression: device.driver == "gpu.example.com"
  - cel: {expression: 'device.attributes["a.com/b"] > 20'}
---
kind: [
---
apiVersion: v1
kind: List
items:
- apiVersion: resource.k8s.io/v1beta1
  kind: ResourceClaimTemplate
  metadata: {name: t}
  spec:
    spec:
      devices:
        requests:
        - name: r
          selectors:
          - cel:
              expression: |-
                device.attributes["x.com"].a == 1 &&
                true
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: c, namespace: team}
  spec:
    devices:
      requests:
      - name: r
        firstAvailable:
        - name: s
          deviceClassName: gpu
          selectors: [{cel: {expression: "device.driver.foo()"}}]
          derivedAttributes: [{name: x.com/y, expression: device.driver}]
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec: {selectors: [{cel: {expression: nonsense(}}]}
`;

test("check -f: every selector of manifests, with its place; exit code 1 if any is wrong", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "m.yaml");
    writeFileSync(file, manifests);
    const [text, json] = await Promise.all([
      dray(["cel", "check", "-f", folder]),
      dray(["cel", "check", "-f", file, "-o", "json"]),
    ]);
    assert.deepEqual([text.code, json.code], [1, 1]);
    const rows = text.stdout
      .replaceAll(`${folder}/`, "")
      .split("\n")
      .map((line) => line.split(/ {3,}/));
    assert.deepEqual(rows, [
      ["WHERE", "OBJECT", "PATH", "RESULT", "COST"],
      ["m.yaml:7", "DeviceClass gpu", "spec.selectors[0].cel.expression", "ok", "4"],
      ["m.yaml:8", "DeviceClass gpu", "spec.selectors[1].cel.expression", "error", "-"],
      [
        "m.yaml:25",
        "ResourceClaimTemplate default/t",
        "spec.spec.devices.requests[0].selectors[0].cel.expression",
        "ok",
        "5",
      ],
      [
        "m.yaml:38",
        "ResourceClaim team/c",
        "spec.devices.requests[0].firstAvailable[0].selectors[0].cel.expression",
        "error",
        "-",
      ],
      [
        "m.yaml:39",
        "ResourceClaim team/c",
        "spec.devices.requests[0].firstAvailable[0].derivedAttributes[0].expression",
        "ok",
        "2",
      ],
      [""],
      ["5 expressions, 2 are wrong"],
      [""],
    ]);
    const errors = text.stderr.replaceAll(`${folder}/`, "");
    assert.match(errors, /^error: m.yaml:11, document 2: is not YAML: /);
    assert.match(
      errors,
      /\nerror: m.yaml:8, document 1: DeviceClass gpu: spec.selectors\[1\].cel.expression: compilation failed: ERROR: .*'_>_'.*\n(?:.*\n)+ {2}hint: .*device\.attributes\["a\.com"\]/,
    );
    assert.match(errors, /\nerror: m.yaml:38, document 3, item 2: ResourceClaim team\/c: .*foo/);
    const data = JSON.parse(json.stdout) as {
      expressions: Record<string, unknown>[];
      errors: { rule: string }[];
      summary: object;
    };
    assert.deepEqual(data.summary, { expressions: 5, wrong: 2, unchecked: 0 });
    assert.deepEqual(
      data.errors.map(({ rule }) => rule),
      ["syntax"],
    );
    assert.deepEqual(
      data.expressions.map(({ line, valid, maxCost }) => [line, valid, maxCost]),
      [
        [7, true, 4],
        [8, false, undefined],
        [25, true, 5],
        [38, false, undefined],
        [39, true, 2],
      ],
    );
  });
});

/** An expression that is right and one that is wrong at each place where manifests have them. */
const policies = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  matchConditions:
  - {name: a, expression: request.foo()}
  variables:
  - {name: x, expression: object.spec.nope(}
  validations:
  - expression: object.spec.containers.size() > 1
    messageExpression: 1 + 'a'
  auditAnnotations:
  - {key: k, valueExpression: "'b'"}
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicy
metadata: {name: m}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: "Object{}"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: w}
webhooks:
- name: a.b.c
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: "https://a.b/c"}
  matchConditions:
  - {name: a, expression: "1"}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ws.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ws, kind: W}
  versions:
  - &version
    name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-validations:
        - rule: has(self.spec)
        properties:
          spec:
            type: object
            properties:
              list:
                type: array
                items:
                  type: object
                  properties: {a: {type: string}}
                  x-kubernetes-validations:
                  - rule: self.b == 1
                    messageExpression: "'x'"
  - {<<: *version, name: v2, storage: false}
`;

test("check -f: expressions of policies, webhooks and definitions too, as the API server judges them", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "p.yaml");
    writeFileSync(file, policies);
    const [text, lint] = await Promise.all([
      dray(["cel", "check", "-f", file]),
      dray(["lint", file, "--runtime-config", "api/all=true", "-o", "json"]),
    ]);
    assert.deepEqual([text.code, lint.code], [1, 1]);
    const rows = text.stdout.split("\n").map((line) => line.split(/ {3,}/));
    const at = "spec.versions[0].schema.openAPIV3Schema";
    const items = "properties[spec].properties[list].items.x-kubernetes-validations[0]";
    const shown = rows
      .slice(1, -3)
      .map(([where = "", , path, ...result]) => [Number(where.slice(file.length + 1)), path, ...result]);
    assert.deepEqual(shown.slice(0, 9), [
      [8, "spec.matchConditions[0].expression", "error", "-"],
      [10, "spec.variables[0].expression", "error", "-"],
      [12, "spec.validations[0].expression", "ok", "-"],
      [13, "spec.validations[0].messageExpression", "error", "-"],
      [15, "spec.auditAnnotations[0].valueExpression", "ok", "-"],
      [26, "spec.mutations[0].applyConfiguration.expression", "ok", "-"],
      [37, "webhooks[0].matchConditions[0].expression", "error", "-"],
      [55, `${at}.x-kubernetes-validations[0].rule`, "ok", "-"],
      [55, `${at.replace("0", "1")}.x-kubernetes-validations[0].rule`, "ok", "-"],
    ]);
    assert.deepEqual(
      shown
        .slice(9)
        .map(([line, path, result]) => [line, path, result])
        .toSorted(),
      [at, at.replace("0", "1")]
        .flatMap((at) => [
          [66, `${at}.${items}.rule`, "error"],
          [67, `${at}.${items}.messageExpression`, "not checked"],
        ])
        .toSorted(),
    );
    assert.match(text.stdout, /\n13 expressions, 6 are wrong, 2 not checked\n$/);
    assert.match(
      text.stderr,
      /^error: \S+:8, .*: compilation failed: ERROR: .*undeclared reference to 'foo'/,
    );
    // Lint has the same of each object, at the same places.
    const { findings } = JSON.parse(lint.stdout) as {
      findings: { rule: string; line: number; path: string }[];
    };
    assert.deepEqual(
      findings
        .filter(({ rule }) => rule.startsWith("invalid"))
        .map(({ rule, line, path }) => [rule, line, path]),
      [
        ["invalid-selector", 8, "spec.matchConditions[0].expression"],
        ["invalid-selector", 10, "spec.variables[0].expression"],
        ["invalid-selector", 13, "spec.validations[0].messageExpression"],
        ["invalid-selector", 37, "webhooks[0].matchConditions[0].expression"],
        ["invalid-selector", 66, `${at}.${items}.rule`],
      ],
    );
  });
});

test("check -f: what the API server refuses for another reason is not called right", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "p.yaml");
    const policy = policies.slice(0, policies.indexOf("---"));
    writeFileSync(file, policy.replace("operations: [CREATE]", "operations: [NOPE]"));
    const other = await dray(["cel", "check", "-f", file]);
    assert.equal(other.code, 1);
    assert.match(other.stdout, /spec\.auditAnnotations\[0\]\.valueExpression +not checked +-\n/);
    assert.match(
      other.stderr,
      /error: .*valueExpression: not checked: spec\.matchConstraints\.resourceRules/,
    );
  });
});

test("check -f: new objects by the gates of the release, stored ones by all that a server knows", async () => {
  const expression = `${model}.includes("a")`;
  const of = (metadata: object): string =>
    JSON.stringify({
      apiVersion: "resource.k8s.io/v1",
      kind: "DeviceClass",
      metadata,
      spec: { selectors: [{ cel: { expression } }] },
    });
  const outputs = await Promise.all(
    [{ name: "new" }, { name: "stored", uid: "5f3a1c0e-0000-4000-8000-000000000001" }].map((metadata) => {
      const child = start(["cel", "check", "-f", "-"], {}, false, "pipe");
      child.stdin?.end(of(metadata));
      return output(child);
    }),
  );
  assert.deepEqual(
    outputs.map(({ code }) => code),
    [1, 0],
  );
  assert.match(outputs[0]!.stdout, /\nstandard input:1 +DeviceClass new +/);
  const wrong = await Promise.all([
    dray(["cel", "check"]),
    dray(["cel", "check", "true", "-f", "x"]),
    dray(["cel", "check", "-f", "/nonexistent"]),
  ]);
  assert.deepEqual(
    wrong.map(({ code }) => code),
    [2, 2, 1],
  );
});

test("what takes long on large input says what is done: steps with --verbose, a line on a terminal", async () => {
  await inFolder(async (folder) => {
    const file = join(folder, "large.json");
    const text = JSON.stringify({
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceSlice",
      metadata: { name: "s" },
      spec: {
        driver: "gpu.example.com",
        nodeName: "n",
        pool: { name: "n", generation: 1, resourceSliceCount: 1 },
        devices: [{ name: "a" }],
      },
    });
    writeFileSync(file, text + " ".repeat(2_100_000));
    const [evaluated, checked, linted] = await Promise.all([
      dray(["-v", "cel", "eval", "true", "-f", file]),
      dray(["-v", "cel", "check", "-f", file, "-f", examples]),
      dray(["-v", "lint", file]),
    ]);
    const steps = ({ stderr }: { stderr: string }): string[] =>
      stderr
        .split("\n")
        .flatMap((line) => /^(.*): \d+\.\d s$/.exec(line.replaceAll(`${folder}/`, ""))?.[1] ?? []);
    assert.deepEqual(steps(evaluated), [
      "Reading the ResourceSlices",
      "Reading large.json",
      "Reading the objects: 0 of 1",
      "Checking the objects: 0 of 1",
      "Asking the devices of ResourceSlices: 0 of 1",
    ]);
    assert.deepEqual(steps(checked).slice(0, 2), ["Reading the manifests", "Reading large.json"]);
    assert.match(steps(checked)[2] ?? "", /^Checking expressions: \d of \d$/);
    for (const step of ["Reading large.json", "Reading the objects: 0 of 1", "Checking objects: 0 of 1"])
      assert.ok(steps(linted).includes(step), steps(linted).join());
  });
});
