import assert from "node:assert/strict";
import { test } from "node:test";
import type { Finding } from "./finding.ts";
import { type RuleId, ruleIds, rules } from "./rules.ts";
import { apiCases } from "./testing/api-cases.ts";
import type { Case, Cases } from "./testing/case.ts";
import { deviceCases } from "./testing/device-cases.ts";
import { lintText } from "./testing/lint-text.ts";
import { claim, cluster, pod, template } from "./testing/manifests.ts";
import { referenceCases } from "./testing/reference-cases.ts";
import { selectorCases } from "./testing/selector-cases.ts";

const cases: Cases = { ...apiCases, ...referenceCases, ...selectorCases, ...deviceCases };

const textOf = ({ message, details, hints }: Finding): string => [message, ...details, ...hints].join("\n");

for (const [rule, all] of Object.entries(cases) as [RuleId, readonly Case[]][]) {
  test(`${rule}: ${rules[rule].about}`, async () => {
    for (const { text, at, says, and = [], ...options } of all) {
      const findings = await lintText(text, options);
      const found = findings.filter((each) => each.rule === rule && says.test(textOf(each)));
      assert.equal(found.length, 1, JSON.stringify(findings, undefined, 1));
      assert.deepEqual([found[0]?.line, found[0]?.path], at);
      assert.equal(found[0]?.severity, rules[rule].severity);
      const others = findings.filter((each) => each !== found[0]).map((each) => each.rule);
      assert.deepEqual(others, and, text);
    }
  });
}

test("every rule has a case here, but for files that cannot be read", () => {
  assert.deepEqual(
    ruleIds.filter((id) => cases[id] === undefined),
    ["unreadable"],
  );
});

test("an undefined class is only a warning if no class is known", async () => {
  const [found, ...more] = await lintText(
    `${claim("count: 1")}---\n${claim("count: 2").replace("name: c}", "name: d}")}`,
  );
  assert.deepEqual([found?.rule, found?.severity, more], ["missing-class", "warning", []]);
  assert.deepEqual(found?.details, ["2 requests name it"]);
});

test("no findings for alternatives of which one fits, stored objects and other kinds", async () => {
  const well = [
    `apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: r
      firstAvailable:
      - {name: many, deviceClassName: gpu, count: 8}
      - {name: few, deviceClassName: gpu, count: 2}
`,
    template("t"),
    pod("resourceClaims: [{name: g, resourceClaimTemplateName: t}]", "[{name: g, request: r}]"),
    "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n",
    "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n",
    "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n",
    // A server has accepted it, whatever the rules of this release.
    `apiVersion: v1
kind: Pod
metadata: {name: stored, namespace: default, uid: 5f3a1c0e-0000-4000-8000-000000000001, resourceVersion: "7"}
spec: {fieldOfTomorrow: 1, nodeName: gone, containers: [{name: c, image: i}]}
`,
  ].join("---\n");
  assert.deepEqual(await lintText(well, { cluster }), []);
});

test("without a node devices are judged by the nodes that slices name, and devices in use count as free", async () => {
  const slices = cluster.split("---\n").filter((part) => /kind: (ResourceSlice|DeviceClass)/.test(part));
  const taken = `${claim("count: 2").replace("name: c}", "name: other}")}status:
  allocation:
    devices: {results: [{request: r, driver: gpu.example.com, pool: one, device: a}, {request: r, driver: gpu.example.com, pool: one, device: b}]}
`;
  const context = [...slices, taken].join("---\n");
  assert.deepEqual(await lintText(claim("count: 2"), { cluster: context }), []);
  const found = await lintText(claim("count: 3"), { cluster: context });
  assert.deepEqual(
    found.map(({ rule }) => rule),
    ["count-too-high"],
  );
});
