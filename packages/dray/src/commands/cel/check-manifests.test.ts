import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dray, inFolder, output, start } from "../../testing/program.ts";

const model = 'device.attributes["gpu.example.com"].model';

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

/** A valid and an invalid expression at each place in manifests. */
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
    // Lint reports the same at the same places.
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

test("check -f: an expression beside another error of the manifest is reported as not checked", async () => {
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
      const child = start(["cel", "check", "-f", "-"], {}, { stdin: "pipe" });
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
