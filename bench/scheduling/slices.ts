/** The slices of the workloads: what one node has, with the values of upstream's templates. */
import { driver, type Made, nodeName, range, resource } from "./objects.ts";

const poolName = (i: number): string => `resourceslice-${i}`;

/** Slices of one pool, by node `i` or where `more` says. */
function pool(i: number, specs: readonly object[], where: object = { nodeName: nodeName(i) }): Made[] {
  const named = { name: poolName(i), generation: 1, resourceSliceCount: specs.length };
  return specs.map((spec, part) => ({
    path: `${resource}/resourceslices`,
    object: {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceSlice",
      metadata: { name: `${poolName(i)}-${part}` },
      spec: { driver, pool: named, ...where, ...spec },
    },
  }));
}

const basicDeviceName = (k: number): string => `basic-device-${k}`;

/** A GPU with as many attributes as drivers publish; the PCI roots alternate. */
function basicDevice(k: number): object {
  const root = k % 2;
  const text = (string: string): object => ({ string });
  return {
    name: basicDeviceName(k),
    attributes: {
      driver: text("xe"),
      driverVersion: { version: "1.2.3" },
      "resource.k8s.io/pciRoot": text(`${root}`),
      family: text("Arc Pro B-Series"),
      health: text("Healthy"),
      model: text("B60"),
      pciAddress: text(`0000:0${k}:00.0`),
      pciId: text("0xe211"),
      pciRoot: text(`0${root}`),
      "resource.kubernetes.io/pciBusID": text(`0000:0${k}:00.0`),
      "resource.kubernetes.io/pciRoot": text(`pci0000:0${root}`),
      sriov: { bool: true },
      type: text("gpu"),
    },
    capacity: { memory: { value: "24480Mi" }, millicores: { value: "1k" } },
  };
}

export const basicSlice =
  (devices: number) =>
  (i: number): Made[] =>
    pool(i, [{ devices: range(devices, basicDevice) }]);

const counters = (names: readonly string[], value = "1"): object =>
  Object.fromEntries(names.map((name) => [name, { value }]));

/** Two devices of two counters each, which are in a compatibility group where `group` names it. */
export const partitions =
  (group?: string) =>
  (i: number): Made[] => {
    const names = range(4, (n) => `counter${n + 1}`);
    const more = group === undefined ? {} : { compatibilityGroups: [group] };
    const devices = range(2, (k) => ({
      name: `device-${k + 1}`,
      consumesCounters: [
        { counterSet: "counter-set", counters: counters(names.slice(2 * k, 2 * k + 2)), ...more },
      ],
    }));
    return pool(i, [{ sharedCounters: [{ name: "counter-set", counters: counters(names) }] }, { devices }]);
  };

/** Eight devices; seven fit into the memory only without the first one. */
export function backtrackingPartitions(i: number): Made[] {
  const names = range(8, (k) => `cpu${k + 1}`);
  const sharedCounters = [
    { name: "counter-set-for-cpu", counters: counters(names) },
    { name: "counter-set-for-mem", counters: counters(["mem"], "70Gi") },
  ];
  const devices = names.map((name, k) => ({
    name: `device-${k + 1}`,
    consumesCounters: [
      { counterSet: "counter-set-for-cpu", counters: counters([name]) },
      { counterSet: "counter-set-for-mem", counters: counters(["mem"], k === 0 ? "20Gi" : "10Gi") },
    ],
  }));
  return pool(i, [{ sharedCounters }, { devices }]);
}

/** Four devices whose bandwidth several claims share. */
export function shares(i: number): Made[] {
  const requestPolicy = { default: "1M", validRange: { min: "1M", step: "8" } };
  const devices = range(4, (k) => ({
    name: `shareable-device-${k}`,
    allowMultipleAllocations: true,
    attributes: { "dra.example.com/index": { int: k } },
    capacity: { bandwidth: { requestPolicy, value: "10G" } },
  }));
  return pool(i, [{ devices }]);
}

/** 64 devices with lists of 47 values of their own; the second half have one value more, which they share. */
export function listAttributes(i: number): Made[] {
  const devices = range(64, (k) => {
    const own = range(47, (n) => `device-${k}-value-${n}`);
    const strings = k < 32 ? own : ["shared-value", ...own];
    return { name: `device-${k}`, attributes: { "dra.example.com/match": { strings } } };
  });
  return pool(i, [{ devices }]);
}

/** One device that every node reaches. */
export function networkDevice(i: number): Made[] {
  const matchExpressions = [{ key: "node-with-dra", operator: "In", values: ["true"] }];
  return pool(i, [{ devices: [{ name: "device" }] }], {
    nodeSelector: { nodeSelectorTerms: [{ matchExpressions }] },
  });
}

/** The allocation of these devices of a node to one request. */
export function allocation(i: number, devices: readonly string[]): object {
  const results = devices.map((device) => ({ request: "req-0", driver, pool: poolName(i), device }));
  const terms = [{ matchFields: [{ key: "metadata.name", operator: "In", values: [nodeName(i)] }] }];
  return { devices: { results }, nodeSelector: { nodeSelectorTerms: terms } };
}

/** The allocation of the `k`th basic device of a node. */
export const basicAllocation = (i: number, k: number): object => allocation(i, [basicDeviceName(k)]);
