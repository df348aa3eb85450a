/** Fleets of nodes with GPUs, as full as wanted, and claims for them. */
import type { Device, ResourceClaim } from "@dray/api/resource/v1";
import {
  asking,
  claim,
  defaultFeatures,
  driver,
  gpuClass,
  type Input,
  is,
  node,
  numa,
  slice,
} from "./objects.ts";

export interface FleetOptions {
  readonly nodes: number;
  readonly gpus: number;
  /** Part of the devices that is held. */
  readonly load: number;
  /** Held devices are spread over all nodes; packed: the first nodes are full, the others empty. */
  readonly packed?: boolean;
  /**
   * Partitions of each GPU, of which each takes one slice of its counter set; without it a GPU is one device.
   */
  readonly partitions?: number;
}

export type Fleet = Omit<Input, "claims">;

const models = ["a100", "h100", "h200", "l40"];

export function fleet({ nodes, gpus, load, packed = false, partitions }: FleetOptions): Fleet {
  const perNode = gpus * (partitions ?? 1);
  const names = Array.from({ length: nodes }, (_, n) => `node-${String(n).padStart(5, "0")}`);
  const isHeld = (n: number, i: number): boolean =>
    packed ? n < Math.floor(nodes * load) : ((n * perNode + i) * 37 + 11) % 100 < load * 100;
  const held: string[] = [];
  const slices = names.flatMap((name, n) => {
    const pool = { name, generation: 1, resourceSliceCount: partitions === undefined ? 1 : 2 };
    const devices = Array.from({ length: perNode }, (_, i) => {
      if (isHeld(n, i)) held.push(`${driver}/${name}/d${i}`);
      return partitions === undefined ? gpu(n, i) : partition(i, Math.floor(i / partitions));
    });
    const withDevices = slice(`${name}-devices`, { driver, pool, nodeName: name, devices });
    if (partitions === undefined) return [withDevices];
    const sharedCounters = Array.from({ length: gpus }, (_, g) => ({
      name: `gpu${g}`,
      counters: { slice: { value: String(partitions) } },
    }));
    return [slice(`${name}-counters`, { driver, pool, nodeName: name, sharedCounters }), withDevices];
  });
  return { features: defaultFeatures, nodes: names.map(node), classes: [gpuClass], slices, held };
}

function gpu(n: number, i: number): Device {
  return {
    name: `d${i}`,
    attributes: {
      model: { string: models[n % models.length]! },
      index: { int: i },
      fabric: { int: n },
      [numa]: { int: i % 2 },
    },
    capacity: { memory: { value: "80Gi" } },
  };
}

function partition(i: number, g: number): Device {
  return {
    name: `d${i}`,
    attributes: { profile: { string: "1g" } },
    consumesCounters: [{ counterSet: `gpu${g}`, counters: { slice: { value: "1" } } }],
  };
}

/** Claims of one kind, each a new object as a new pod has it. */
export type Claims = (i: number) => readonly ResourceClaim[];

export const oneDevice: Claims = (i) => [
  claim(`one-${i}`, { requests: [{ name: "gpu", exactly: asking(1, is("model", "h200")) }] }),
];

export const eightDevices: Claims = (i) => [
  claim(`eight-${i}`, {
    requests: [{ name: "gpus", exactly: asking(8) }],
    constraints: [{ requests: ["gpus"], matchAttribute: `${driver}/fabric` }],
  }),
];

export const onePartition: Claims = (i) => [
  claim(`part-${i}`, { requests: [{ name: "part", exactly: asking(1, is("profile", "1g")) }] }),
];
