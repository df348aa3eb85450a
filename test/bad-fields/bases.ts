import {
  derived,
  driver,
  exists,
  matched,
  opaque,
  pool,
  request,
  selectors,
  slice,
  term,
  toleration,
} from "./rows.ts";

/** Specs that are valid: the first word is the kind. */
export const bases: Readonly<Record<string, object>> = {
  DeviceClass: { selectors, config: [{ opaque }], extendedResourceName: "example.com/x" },
  DeviceTaintRule: {
    deviceSelector: { driver, pool: "p", device: "d" },
    taint: { key: "example.com/a", value: "v", effect: "NoSchedule" },
  },
  ResourceClaim: {
    devices: {
      requests: [
        {
          name: "r",
          exactly: { ...request, selectors, tolerations: [toleration], derivedAttributes: derived },
        },
      ],
      constraints: matched,
      config: [{ requests: ["r"], opaque }],
    },
  },
  "ResourceClaim firstAvailable": {
    devices: {
      requests: [
        {
          name: "r",
          firstAvailable: [
            { name: "s", ...request, selectors, tolerations: [toleration], derivedAttributes: derived },
          ],
        },
      ],
      constraints: matched,
    },
  },
  ResourceSlice: {
    ...slice,
    devices: [
      {
        name: "d",
        attributes: { a: { string: "x" } },
        capacity: { m: { value: "4Gi", requestPolicy: { default: "1Gi", validValues: ["1Gi", "2Gi"] } } },
        allowMultipleAllocations: true,
        consumesCounters: [{ counterSet: "set", counters: { c: { value: "1" } } }],
        taints: [{ key: "example.com/a", value: "v", effect: "NoSchedule" }],
        bindingConditions: ["ready"],
        bindingFailureConditions: ["broken"],
      },
    ],
  },
  "ResourceSlice range": {
    ...slice,
    devices: [
      {
        name: "d",
        allowMultipleAllocations: true,
        capacity: {
          m: {
            value: "4Gi",
            requestPolicy: { default: "1Gi", validRange: { min: "1Gi", max: "4Gi", step: "1Gi" } },
          },
        },
      },
    ],
  },
  "ResourceSlice counters": { ...slice, sharedCounters: [{ name: "set", counters: { c: { value: "1" } } }] },
  "ResourceSlice nodes": { driver, pool, nodeSelector: term(exists) },
  "ResourceSlice fields": {
    driver,
    pool,
    nodeSelector: {
      nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] }],
    },
  },
  "ResourceSlice allocatable": {
    ...slice,
    devices: [
      {
        name: "d",
        capacity: { m: { value: "4Gi" } },
        nodeAllocatableResources: {
          cpu: { mapping: { deviceMultiplier: "1" }, overhead: { perPod: "1" } },
          memory: { mapping: { capacityKey: "m", capacityMultiplier: "1" } },
        },
      },
    ],
  },
  "ResourceSlice device fields": {
    driver,
    pool,
    perDeviceNodeSelection: true,
    devices: [
      {
        name: "d",
        nodeSelector: {
          nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] }],
        },
      },
    ],
  },
  "ResourceSlice devices": {
    driver,
    pool,
    perDeviceNodeSelection: true,
    devices: [{ name: "d", nodeSelector: term(exists) }],
  },
};
