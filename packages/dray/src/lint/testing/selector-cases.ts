import type { Cases } from "./case.ts";
import { claim, cluster } from "./manifests.ts";

/** CEL selectors. */
export const selectorCases: Cases = {
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
      // On node one the search ends before it reaches the device without the attribute.
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
};
