import assert from "node:assert/strict";
import { test } from "node:test";
import type { Finding } from "./finding.ts";
import { type RuleId, ruleIds, rules } from "./rules.ts";
import { type LintTextOptions, lintText } from "./testing.ts";

/** Two nodes with two GPUs each, of 40Gi and 80Gi; one device of another driver; a namespace; a class. */
const cluster = `
apiVersion: v1
kind: Node
metadata: {name: one, labels: {kubernetes.io/hostname: one}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: two, labels: {kubernetes.io/hostname: two, disk: ssd}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: one}
spec:
  driver: gpu.example.com
  nodeName: one
  pool: {name: one, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: a, attributes: {numa: {int: 0}, vendor: {string: acme}}, capacity: {memory: {value: 40Gi}}}
  - {name: b, attributes: {numa: {int: 1}}, capacity: {memory: {value: 40Gi}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: two}
spec:
  driver: gpu.example.com
  nodeName: two
  pool: {name: two, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: a, attributes: {numa: {int: 0}}, capacity: {memory: {value: 80Gi}}}
  - {name: b, attributes: {numa: {int: 1}}, capacity: {memory: {value: 80Gi}}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: nic}
spec: {selectors: [{cel: {expression: device.driver == "nic.example.com"}}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: there}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
`;

const claim = (exactly: string, more = ""): string => `apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: r
      exactly:
        deviceClassName: gpu
        ${exactly}
${more}`;

const template = (name: string): string => `apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: ${name}}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
`;

const pod = (spec: string, claims = "[]"): string => `apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: main
    image: i
    resources: {claims: ${claims}}
  ${spec}
`;

interface Case extends LintTextOptions {
  readonly text: string;
  /** Line and path of the finding. */
  readonly at: readonly [line: number | undefined, path: string | undefined];
  readonly says: RegExp;
  /** What else is found. */
  readonly and?: readonly RuleId[];
}

const cases: Partial<Record<RuleId, readonly Case[]>> = {
  syntax: [
    { text: "a: 1\n---\nkind: [\n", at: [4, undefined], says: /is not YAML/, and: ["syntax"] },
    { text: "kind: Pod\n", at: [1, undefined], says: /apiVersion is missing/ },
  ],
  "unserved-version": [
    {
      text: template("t")
        .replace("/v1\n", "/v1beta1\n")
        .replace("exactly: {deviceClassName: gpu}", "deviceClassName: gpu"),
      cluster,
      at: [1, "apiVersion"],
      says: /no matches for kind "ResourceClaimTemplate" in version "resource.k8s.io\/v1beta1".*write resource.k8s.io\/v1\n.*--runtime-config=resource.k8s.io\/v1beta1=true/s,
    },
    {
      text: "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: d}\n",
      at: [1, "apiVersion"],
      says: /in version "extensions\/v1beta1".*write apps\/v1/s,
    },
    {
      text: "apiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: d}\n",
      at: [2, "kind"],
      says: /no matches for kind "Deploymnt".*did you mean Deployment\?/s,
    },
    {
      text: "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {name: r}\nspec: {taint: {key: a, effect: NoSchedule}}\n",
      version: "1.36",
      at: [1, "apiVersion"],
      says: /Kubernetes 1.37 and newer have it/,
    },
    {
      text: "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: g}\n",
      at: [1, "apiVersion"],
      says: /Kubernetes 1.36 is the last release that has it/,
    },
    {
      text: "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n",
      found: [{ group: "", version: "v1", kind: "Pod" }],
      at: [1, "apiVersion"],
      says: /is its CustomResourceDefinition there\?/,
    },
  ],
  "deprecated-version": [
    {
      text: template("t").replace("/v1\n", "/v1beta2\n"),
      cluster,
      runtimeConfig: { "resource.k8s.io/v1beta2": true },
      at: [1, "apiVersion"],
      says: /resource.k8s.io\/v1beta2 ResourceClaimTemplate is deprecated in v1.36\+, unavailable in v1.39\+/,
    },
  ],
  "unknown-field": [
    {
      text: pod("resourceClaim: []"),
      at: [9, "spec.resourceClaim"],
      says: /unknown field "spec.resourceClaim".*did you mean resourceClaims\?/s,
    },
    {
      text: claim("derivedAttributes: [{name: x.com/a, expression: device.driver}]"),
      version: "1.36",
      cluster,
      at: [10, "spec.devices.requests[0].exactly.derivedAttributes"],
      says: /Kubernetes 1.36 does not have this field; 1.37 and newer do/,
    },
  ],
  "dropped-field": [
    {
      text: claim("tolerations: [{operator: Exists}]"),
      version: "1.34",
      cluster,
      at: [10, "spec.devices.requests[0].exactly.tolerations"],
      says: /Kubernetes 1.34 drops this field: its feature gate DRADeviceTaints is off/,
    },
  ],
  "duplicate-key": [
    {
      text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: b\n  a: c\n",
      at: [6, undefined],
      says: /key "a" already set in map/,
    },
    {
      text: '{"apiVersion": "v1", "kind": "ConfigMap",\n"metadata": {"name": "c"},\n"data": {"a": "b",\n"a": "c"}}',
      at: [4, "data.a"],
      says: /duplicate field "data.a"/,
    },
  ],
  "wrong-type": [
    {
      text: pod("terminationGracePeriodSeconds: soon"),
      at: [9, "spec.terminationGracePeriodSeconds"],
      says: /cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64/,
    },
  ],
  invalid: [
    {
      text: claim("count: -1"),
      cluster,
      at: [10, "spec.devices.requests[0].exactly.count"],
      says: /^spec.devices.requests\[0\].exactly.count: Invalid value: -1: must be greater than zero$/,
    },
    {
      text: "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec:\n  ports:\n  - port: 80\n    targetPort: 80000\n",
      at: [7, "spec.ports[0].targetPort"],
      says: /Invalid value: 80000: must be between 1 and 65535, inclusive/,
    },
    {
      text: "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: wrong}\nspec:\n  group: example.com\n  names: {kind: Widget, plural: widgets}\n  scope: Namespaced\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n",
      at: [3, "metadata.name"],
      says: /must be spec.names.plural\+"\."\+spec.group/,
    },
    // A custom resource, by the schema and the rules of the definition that is among the manifests.
    {
      text: `apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec: {size: 7}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: self.size < 5, message: too large}]
            properties: {size: {type: integer}}
`,
      at: [4, "spec"],
      says: /Invalid value: .*too large/,
    },
  ],
  immutable: [
    {
      text: claim("count: 2").replace("name: c}", "name: there}"),
      cluster,
      at: [4, "spec"],
      says: /spec: Invalid value: .*field is immutable/,
    },
  ],
  forbidden: [
    {
      text: `apiVersion: v1
kind: Namespace
metadata: {name: tight, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
${pod("hostNetwork: true").replace("name: p}", "name: p, namespace: tight}")}`,
      at: [5, undefined],
      says: /violates PodSecurity "restricted:latest": host namespaces/,
    },
  ],
  "server-warning": [
    {
      text: pod("nodeSelector: {beta.kubernetes.io/os: linux}"),
      at: [9, "spec.nodeSelector[beta.kubernetes.io/os]"],
      says: /deprecated since v1.14/,
    },
  ],
  "duplicate-object": [
    {
      text: `${template("t")}---\n${template("t")}---\n${template("t").replace("name: r", "name: q")}`,
      cluster,
      at: [11, undefined],
      says: /was given before, and differs: in.yaml:1, document 1/,
    },
  ],
  "missing-claim": [
    {
      text: `${pod("resourceClaims: [{name: g, resourceClaimName: t}]", "[{name: g}]")}---\n${template("t")}`,
      cluster,
      at: [9, "spec.resourceClaims[0].resourceClaimName"],
      says: /there is no ResourceClaim "t" in namespace default \(known: there\).*write resourceClaimTemplateName: t/s,
    },
  ],
  "missing-template": [
    {
      text: `apiVersion: batch/v1
kind: CronJob
metadata: {name: j}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
          resourceClaims:
          - name: g
            resourceClaimTemplateName: large
---
${template("lage")}`,
      cluster,
      at: [14, "spec.jobTemplate.spec.template.spec.resourceClaims[0].resourceClaimTemplateName"],
      says: /there is no ResourceClaimTemplate "large" in namespace default \(known: lage\); did you mean lage\?/,
    },
  ],
  "missing-class": [
    {
      text: claim("count: 1").replace("deviceClassName: gpu", "deviceClassName: gpuu"),
      cluster,
      at: [9, "spec.devices.requests[0].exactly.deviceClassName"],
      says: /there is no DeviceClass "gpuu" \(known: gpu, nic\); did you mean gpu\?/,
    },
  ],
  "undeclared-claim": [
    {
      text: pod("resourceClaims: [{name: g, resourceClaimName: there}]", "[{name: there}]"),
      cluster,
      at: [8, "spec.containers[0].resources.claims[0]"],
      says: /Not found: "there": must be one of the names in pod.spec.resourceClaims: g.*the pod's own name for it is "g"/s,
      and: ["unused-claim"],
    },
  ],
  "unknown-request": [
    {
      text: pod("resourceClaims: [{name: g, resourceClaimName: there}]", "[{name: g, request: gpu}]"),
      cluster,
      at: [8, "spec.containers[0].resources.claims[0].request"],
      says: /claim "g" has no request "gpu": container main gets no device.*its requests are r/s,
    },
  ],
  "unused-claim": [
    {
      text: pod("resourceClaims: [{name: g, resourceClaimName: there}]"),
      cluster,
      at: [9, "spec.resourceClaims[0]"],
      says: /no container names claim "g"/,
    },
  ],
  "bypasses-scheduler": [
    {
      text: pod("nodeName: one\n  resourceClaims: [{name: g, resourceClaimName: there}]", "[{name: g}]"),
      cluster,
      at: [9, "spec.nodeName"],
      says: /nobody will allocate its claim "g"/,
    },
  ],
  "invalid-selector": [
    {
      text: claim(`selectors: [{cel: {expression: 'device.attributes["a.com/b"] > 20'}}]`),
      cluster,
      at: [10, "spec.devices.requests[0].exactly.selectors[0].cel.expression"],
      says: /compilation failed: ERROR: .*'_>_'.*the map is by domain first/s,
    },
    {
      text: `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations:
  - expression: object.spec.foo(
`,
      at: [7, "spec.validations[0].expression"],
      says: /compilation failed/,
    },
  ],
  "suspicious-selector": [
    {
      text: claim(`selectors: [{cel: {expression: '"x" in device.attributes["a.com/b"] || true'}}]`),
      cluster,
      at: [10, "spec.devices.requests[0].exactly.selectors[0].cel.expression"],
      says: /device\.attributes\["a\.com"\]/,
    },
  ],
  "selector-fails": [
    {
      text: claim(
        `selectors: [{cel: {expression: 'device.attributes["gpu.example.com"].vendor == "acme"'}}]`,
      ),
      cluster,
      at: [10, "spec.devices.requests[0].exactly.selectors[0].cel.expression"],
      // On node one the search is over before it comes to the device without.
      says: /the selector fails on device gpu.example.com\/two\/a: no such key: vendor/,
    },
    {
      text: `apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: acme}
spec:
  selectors:
  - cel: {expression: device.driver == "gpu.example.com"}
  - cel: {expression: 'device.attributes["gpu.example.com"].vendor == "acme"'}
`,
      cluster,
      at: [7, "spec.selectors[1].cel.expression"],
      says: /the selector fails on device gpu.example.com\/one\/b: no such key: vendor/,
    },
  ],
  "selector-never-matches": [
    {
      text: claim(
        `selectors: [{cel: {expression: 'device.capacity["gpu.example.com"].memory.compareTo(quantity("90Gi")) > 0'}}]`,
      ),
      cluster,
      at: [10, "spec.devices.requests[0].exactly.selectors[0].cel.expression"],
      says: /false for all 4 devices of class gpu.*gpu.example.com\/memory is 40Gi, 80Gi/s,
    },
    // The same in a version without `exactly`.
    {
      text: `apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: r
      deviceClassName: gpu
      selectors:
      - cel: {expression: device.driver == "other"}
`,
      cluster,
      runtimeConfig: { "api/all": true },
      at: [10, "spec.devices.requests[0].exactly.selectors[0].cel.expression"],
      says: /false for all 4 devices of class gpu/,
      and: ["deprecated-version"],
    },
  ],
  "class-without-devices": [
    {
      text: `apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: fpga}
spec: {selectors: [{cel: {expression: device.driver == "fpga.example.com"}}]}
`,
      cluster,
      at: [4, "spec.selectors[0].cel.expression"],
      says: /false for all 4 devices.*device.driver is gpu.example.com/s,
    },
  ],
  "request-without-devices": [
    {
      text: claim("count: 1").replace("deviceClassName: gpu", "deviceClassName: nic"),
      cluster,
      at: [9, "spec.devices.requests[0].exactly.deviceClassName"],
      says: /none of the 4 devices is of class nic/,
    },
  ],
  "count-too-high": [
    {
      text: claim("count: 3"),
      cluster,
      at: [10, "spec.devices.requests[0].exactly.count"],
      says: /asks for 3 devices, and no node has more than 2 that suit it/,
    },
  ],
  "claim-never-fits": [
    {
      text: claim("count: 2", "    constraints: [{matchAttribute: gpu.example.com/numa}]\n"),
      cluster,
      at: [5, "spec.devices"],
      says: /no node can serve the claim, even when all devices are free.*matchAttribute gpu.example.com\/numa: it is 1, that of gpu.example.com\/(one|two)\/a is 0/s,
    },
  ],
  "pod-never-fits": [
    {
      text: pod("nodeSelector: {disk: hdd}"),
      cluster,
      at: [4, "spec"],
      says: /even an empty one: 0\/2 nodes are available: 2 node\(s\) didn't match Pod's node affinity/,
    },
    // More devices than a claim can have.
    {
      text: "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i, resources: {limits: {deviceclass.resource.kubernetes.io/gpu: 99}}}]}\n",
      cluster,
      at: [4, "spec"],
      says: /adding 99 devices exceeds the claim limit of 32/,
    },
    // Nodes and devices fit, but not together.
    {
      text: `${pod("nodeSelector: {disk: ssd}\n  resourceClaims: [{name: g, resourceClaimName: c}]", "[{name: g}]")}---
${claim(`selectors: [{cel: {expression: 'device.capacity["gpu.example.com"].memory.compareTo(quantity("50Gi")) < 0'}}]`)}`,
      cluster,
      at: [4, "spec"],
      says: /1 cannot allocate all claims, 1 node\(s\) didn't match/,
    },
  ],
  "pool-incomplete": [
    {
      text: `apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec: {driver: d.example.com, nodeName: one, pool: {name: p, generation: 1, resourceSliceCount: 2}}
`,
      at: [4, "spec.pool.resourceSliceCount"],
      says: /pool d.example.com\/p is incomplete/,
    },
  ],
  "pool-invalid": [
    {
      text: `apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.example.com
  nodeName: one
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: a, consumesCounters: [{counterSet: x, counters: {m: {value: "1"}}}]}
`,
      at: [9, "spec.devices[0].consumesCounters[0].counterSet"],
      says: /pool d.example.com\/p is invalid: device a consumes from counter set x, which no slice has/,
    },
  ],
  "missing-namespace": [
    {
      text: pod("").replace("name: p}", "name: p, namespace: defualt}"),
      cluster,
      at: [3, "metadata.namespace"],
      says: /there is no Namespace "defualt".*did you mean default\?/s,
    },
  ],
  "missing-priority-class": [
    {
      text: pod("priorityClassName: high"),
      at: [9, "spec.priorityClassName"],
      says: /there is no PriorityClass "high": its pods would be refused/,
    },
  ],
  "missing-service-account": [
    {
      text: `${pod("serviceAccountName: drvier")}---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: driver}\n`,
      at: [9, "spec.serviceAccountName"],
      says: /there is no ServiceAccount "drvier".*did you mean driver\?/s,
    },
  ],
};

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

test("a class that nobody defines is a warning where no class is known: a cluster may have it", async () => {
  const [found, ...more] = await lintText(
    `${claim("count: 1")}---\n${claim("count: 2").replace("name: c}", "name: d}")}`,
  );
  assert.deepEqual([found?.rule, found?.severity, more], ["missing-class", "warning", []]);
  assert.deepEqual(found?.details, ["2 requests name it"]);
});

test("what is well has no findings: alternatives of which one serves, stored objects, other kinds", async () => {
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
    // A server took it as it is, whatever this release would say.
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
