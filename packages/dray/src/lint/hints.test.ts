import assert from "node:assert/strict";
import { test } from "node:test";
import type { Finding } from "./finding.ts";
import type { LintTextOptions } from "./testing/lint-text.ts";
import { lintText } from "./testing/lint-text.ts";
import { cluster } from "./testing/manifests.ts";

const claim = (devices: string): string => `apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: ${devices}}
`;
const pod = (spec: string, container = ""): string => `apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: main, image: i${container}}]${spec}}
`;

const brief = ({ rule, path, hints }: Finding): unknown[] => [rule, path, ...hints];
const rulesOf = async (text: string, options: LintTextOptions = {}): Promise<string[]> =>
  (await lintText(text, options)).map(({ rule, severity }) => `${severity} ${rule}`);

/** Manifest, the path of its misplaced field, and the hints. */
const misplaced: readonly (readonly [text: string, path: string, ...hints: string[]])[] = [
  [
    claim("{requests: [{name: r, count: 2, exactly: {deviceClassName: gpu}}]}"),
    "spec.devices.requests[0].count",
    "the field belongs at spec.devices.requests[0].exactly.count",
    "`dray migrate` rewrites it",
  ],
  [
    claim("{requests: [{name: r, deviceClassName: gpu}]}"),
    "spec.devices.requests[0].deviceClassName",
    "the field belongs at spec.devices.requests[0].exactly.deviceClassName",
    "`dray migrate` rewrites it",
  ],
  [
    claim("{requests: [{name: r, exactly: {deviceClassName: gpu, selectors: [{expression: 'true'}]}}]}"),
    "spec.devices.requests[0].exactly.selectors[0].expression",
    "the field belongs at spec.devices.requests[0].exactly.selectors[0].cel.expression",
  ],
  [
    claim("{matchAttribute: a/b, requests: [{name: r, exactly: {deviceClassName: gpu}}]}"),
    "spec.devices.matchAttribute",
    "the field belongs at spec.devices.constraints[].matchAttribute",
  ],
  [
    "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}\n",
    "spec.requests",
    "the field belongs at spec.devices.requests",
  ],
  [
    "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: c}\nspec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}\n",
    "spec.devices",
    "the field belongs at spec.spec.devices",
  ],
  [
    "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nselectors: [{cel: {expression: 'true'}}]\n",
    "selectors",
    "the field belongs at spec.selectors",
  ],
  [
    pod(
      ", resourceClaims: [{name: g, source: {resourceClaimTemplateName: t}}]",
      ", resources: {claims: [{name: g}]}",
    ),
    "spec.resourceClaims[0].source",
    "the fields in it belong in spec.resourceClaims[0] itself",
    "`dray migrate` rewrites it",
  ],
  [
    pod("", ", resourceClaims: [{name: g}]"),
    "spec.containers[0].resourceClaims",
    "the field belongs at spec.resourceClaims",
  ],
  [
    pod("", ", claims: [{name: g}]"),
    "spec.containers[0].claims",
    "the field belongs at spec.containers[0].resources.claims",
  ],
  [pod(", limits: {cpu: 1}"), "spec.limits", "the field belongs at spec.resources.limits"],
  [
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}, nodeSelector: {a: b}}\n",
    "spec.nodeSelector",
    "the field belongs at spec.template.spec.nodeSelector",
  ],
  // A field that only another version has.
  [
    claim("{requests: [{name: r, exactly: {deviceClassName: gpu}}]}").replace("/v1", "/v1beta1"),
    "spec.devices.requests[0].exactly",
    "resource.k8s.io/v1 has this field, resource.k8s.io/v1beta1 does not",
  ],
  // A field with a similar name in the same place is likelier than one far away, and one that is nowhere has
  // none.
  [pod("", ", imag: i"), "spec.containers[0].imag", "did you mean image or imagePullPolicy?"],
  [pod(", gpus: 2"), "spec.gpus"],
];

test("hints say where a misplaced field belongs, from the schema", async () => {
  for (const [text, path, ...hints] of misplaced) {
    const findings = await lintText(text);
    const found = findings.filter(({ rule }) => rule === "unknown-field");
    assert.deepEqual(found.map(brief), [["unknown-field", path, ...hints]], text);
    const others = findings.filter(({ rule }) => !["unknown-field", "missing-class"].includes(rule));
    // A missing field is not a second mistake.
    assert.deepEqual(
      others.map(brief).filter(([rule]) => rule === "invalid"),
      [],
      text,
    );
  }
});

test("versions of older DRA name dray migrate, and do not make what uses them wrong", async () => {
  const old = (version: string, kind: string, name: string, rest: string): string =>
    `apiVersion: resource.k8s.io/${version}\nkind: ${kind}\nmetadata: {name: ${name}}\n${rest}\n---\n`;
  const findings = await lintText(
    [
      old("v1alpha2", "ResourceClass", "classic", "driverName: d"),
      old("v1alpha3", "DeviceClass", "gpu", "spec: {}"),
      old("v1alpha2", "ResourceClaim", "mine", "spec: {resourceClassName: classic}"),
      old("v1alpha2", "PodSchedulingContext", "p", "spec: {}"),
      old(
        "v1beta1",
        "ResourceClaimTemplate",
        "t",
        "spec: {spec: {devices: {requests: [{name: r, deviceClassName: gpu}]}}}",
      ),
      claim(
        "{requests: [{name: r, exactly: {deviceClassName: gpu}}, {name: s, exactly: {deviceClassName: classic}}]}",
      ),
      "---\n",
      pod(
        ", resourceClaims: [{name: a, resourceClaimName: mine}, {name: b, resourceClaimTemplateName: t}]",
        ", resources: {claims: [{name: a, request: any}, {name: b, request: r}]}",
      ),
    ].join(""),
    { cluster },
  );
  const migrate = "`dray migrate` rewrites it";
  assert.deepEqual(findings.map(brief), [
    ["unserved-version", "kind", "DeviceClass has replaced it", migrate],
    ["unserved-version", "apiVersion", "write resource.k8s.io/v1", migrate],
    ["unserved-version", "apiVersion", migrate],
    ["unserved-version", "kind", "Kubernetes 1.32 removed it: the scheduler allocates devices itself"],
    [
      "unserved-version",
      "apiVersion",
      "write resource.k8s.io/v1",
      "Kubernetes 1.37 serves it only with --runtime-config=resource.k8s.io/v1beta1=true",
      migrate,
    ],
  ]);
});

test("objects with mistakes are not missing for those that name them", async () => {
  const broken = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\n";
  const user = pod(
    ", resourceClaims: [{name: a, resourceClaimTemplateName: t}]",
    ", resources: {claims: [{name: a, request: r}]}",
  );
  for (const spec of ["spec: []", "spec: {devices: {requests: [{name: r}]}}"]) {
    const rules = await rulesOf(`${broken}${spec}\n---\n${user}`, { cluster });
    assert.deepEqual(rules.length, 1, rules.join());
  }
});

test("missing objects are errors only where the input is a whole cluster", async () => {
  const asks = claim("{requests: [{name: r, exactly: {deviceClassName: fpga}}]}");
  const otherClass = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: fpgas}\n---\n";
  const uses = pod(
    ", resourceClaims: [{name: a, resourceClaimTemplateName: t}]",
    ", resources: {claims: [{name: a}]}",
  );
  assert.deepEqual(await rulesOf(asks), ["warning missing-class"]);
  assert.deepEqual(await rulesOf(`${otherClass}${asks}`), ["warning missing-class"]);
  assert.deepEqual(await rulesOf(asks, { cluster }), ["error missing-class"]);
  assert.deepEqual(await rulesOf(asks, { isLive: true, cluster: "" }), ["error missing-class"]);
  assert.deepEqual(await rulesOf(uses), ["warning missing-template"]);
  assert.deepEqual(await rulesOf(uses, { isLive: true, cluster: "" }), ["error missing-template"]);
});

test("a claim that no container names is not an error", async () => {
  const [found, ...others] = await lintText(pod(", resourceClaims: [{name: a, resourceClaimName: there}]"), {
    cluster,
  });
  assert.deepEqual([found?.rule, found?.severity, others], ["unused-claim", "warning", []]);
  assert.match(found?.message ?? "", /its devices are prepared for the pod/);
});
