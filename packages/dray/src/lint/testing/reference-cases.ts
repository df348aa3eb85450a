import type { Cases } from "./case.ts";
import { claim, cluster, pod, template } from "./manifests.ts";

/** Names of missing objects, and wrong uses of claims by pods. */
export const referenceCases: Cases = {
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
  "admin-access": [
    {
      text: claim("adminAccess: true").replace("name: c}", "name: c, namespace: monitoring}"),
      at: [10, "spec.devices.requests[0].exactly.adminAccess"],
      says: /namespaces with the label resource\.kubernetes\.io\/admin-access: "true": whether namespace monitoring has it.*kubectl label namespace monitoring/s,
      and: ["missing-class"],
    },
  ],
  "config-without-driver": [
    {
      text: claim(
        "count: 1",
        "    config:\n    - opaque: {driver: nic.example.com, parameters: {a: 1}}\n    - {requests: [r], opaque: {driver: gpu.example.com, parameters: {}}}\n",
      ),
      cluster,
      at: [12, "spec.devices.config[0].opaque.driver"],
      says: /class gpu has no devices of driver nic\.example\.com: the configuration has no effect.*their drivers are gpu\.example\.com/s,
    },
    {
      text: `apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: numa}
spec:
  selectors: [{cel: {expression: 'device.attributes["gpu.example.com"].?numa.hasValue()'}}]
  config:
  - opaque: {driver: nic.example.com, parameters: {a: 1}}
`,
      cluster,
      at: [7, "spec.config[0].opaque.driver"],
      says: /class numa has no devices of driver nic\.example\.com/,
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
      says: /its claim "g" will not be allocated/,
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
