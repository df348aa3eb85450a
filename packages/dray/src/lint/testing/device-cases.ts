import type { Cases } from "./case.ts";
import { claim, cluster, pod } from "./manifests.ts";

/** Requests that no device or node serves, and pools. */
export const deviceCases: Cases = {
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
    // Nodes and devices each fit, but not together.
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
};
