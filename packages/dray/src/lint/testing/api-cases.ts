import type { Cases } from "./case.ts";
import { claim, cluster, pod, template } from "./manifests.ts";

/** Inputs that the API server would reject or could not parse. */
export const apiCases: Cases = {
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
    // A custom resource, by the schema and the rules of its definition among the manifests.
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
    {
      text: `apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: all}
spec:
  deviceSelector: {}
  taint: {key: broken, effect: NoExecute}
`,
      at: [5, "spec.deviceSelector"],
      says: /an empty selector matches every device from every driver in the cluster/,
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
};
