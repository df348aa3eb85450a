import type { CounterSet, Device, DeviceCapacity } from "@dray/api/resource/v1";
import type { AllocatedDevice } from "@dray/driver";
import { decodeGpuConfig, defaultSharing, type Sharing } from "../config/gpu-config.ts";
import { schemaOf } from "../config/reader.ts";
import { configOf, type Profile, variablePrefix } from "./profile.ts";
import { uuid } from "./uuid.ts";

export interface GpuOptions {
  readonly count: number;
  /** How many partitions each GPU can be divided into (KEP-4815); 0: it is one device. 0 by default. */
  readonly partitions?: number;
  /** Claims take any part of a GPU's memory and compute (KEP-5075). */
  readonly allowMultipleAllocations?: boolean;
  /** Pods are bound after the condition `BindingConditions` is set (KEP-5007). */
  readonly bindingConditions?: boolean;
}

/** Each partition has at least 1Gi of memory and a compute of 1. */
export const maxPartitions = 80;

/** One capacity of a GPU, in `step`s, the minimum that a claim can consume. */
interface Capacity {
  readonly total: number;
  readonly step: number;
  readonly text: (value: number) => string;
}

const gib = 2 ** 30;
const capacities: Readonly<Record<string, Capacity>> = {
  memory: {
    total: 80 * gib,
    step: gib,
    text: (value) => (value % gib === 0 ? `${value / gib}Gi` : String(value)),
  },
  compute: { total: 100, step: 1, text: String },
};

/** Names, attributes, capacity and variables are those of the public example driver, `dra-example-driver`. */
export function gpuProfile(nodeName: string, options: GpuOptions): Profile<Sharing> {
  const { count, partitions = 0 } = options;
  const indexes = Array.from({ length: count }, (_, index) => index);
  return {
    name: "gpu",
    pool: {
      devices: indexes.flatMap((index) =>
        partitions > 0
          ? partitioned(nodeName, index, partitions, options)
          : [whole(nodeName, index, options)],
      ),
      ...(partitions > 0 ? { sharedCounters: indexes.map(counterSet) } : {}),
    },
    parameters: schemaOf(decodeGpuConfig),
    statusAttributes: ["uuid", "model", "driverVersion"],
    variables: gpuVariables,
  };
}

function whole(nodeName: string, index: number, options: GpuOptions): Device {
  return device(`gpu-${index}`, attributes(nodeName, index), 1, options);
}

/** The partitions of a GPU and the GPU itself, which share counters. */
function partitioned(nodeName: string, index: number, partitions: number, options: GpuOptions): Device[] {
  const common = { ...attributes(nodeName, index), partitionable: { bool: true } };
  const consuming = (one: Device, parts: number): Device => ({
    ...one,
    consumesCounters: [{ counterSet: counterSet(index).name, counters: values(parts) }],
  });
  return [
    ...Array.from({ length: partitions }, (_, partition) =>
      consuming(
        device(
          `gpu-${index}-partition-${partition}`,
          { ...common, partition: { int: partition } },
          partitions,
          options,
        ),
        partitions,
      ),
    ),
    consuming(device(`gpu-${index}-full`, { ...common, full: { bool: true } }, 1, options), 1),
  ];
}

function attributes(nodeName: string, index: number): NonNullable<Device["attributes"]> {
  return {
    index: { int: index },
    uuid: { string: `gpu-${uuid(`${nodeName}/${index}`)}` },
    model: { string: "LATEST-GPU-MODEL" },
    driverVersion: { version: "1.0.0" },
  };
}

function counterSet(index: number): CounterSet {
  return { name: `gpu-${index}-counters`, counters: values(1) };
}

/** Returns the attributes and capacity of one of `count` parts of a GPU. */
function values(parts: number): Record<string, { value: string }> {
  return Object.fromEntries(
    Object.entries(capacities).map(([name, { total, text }]) => [
      name,
      { value: text(Math.floor(total / parts)) },
    ]),
  );
}

function device(
  name: string,
  attributes: NonNullable<Device["attributes"]>,
  parts: number,
  { allowMultipleAllocations = false, bindingConditions = false }: GpuOptions,
): Device {
  return {
    name,
    attributes,
    capacity: allowMultipleAllocations ? shareable(parts) : values(parts),
    ...(allowMultipleAllocations ? { allowMultipleAllocations } : {}),
    ...(bindingConditions
      ? {
          bindingConditions: ["BindingConditions"],
          bindingFailureConditions: ["BindingFailureConditions"],
        }
      : {}),
  };
}

/**
 * Default and maximum are multiples of the step, though the size of the part may not be: the API server
 * rejects other policies, and the whole slice with them (`capacity[].requestPolicy`,
 * CapacityRequestPolicyRange.step).
 */
function shareable(parts: number): Record<string, DeviceCapacity> {
  return Object.fromEntries(
    Object.entries(capacities).map(([name, { total, step, text }]): [string, DeviceCapacity] => {
      const value = Math.floor(total / parts);
      const maxRequest = text(Math.floor(value / step) * step);
      const validRange = { min: text(step), max: maxRequest, step: text(step) };
      return [name, { value: text(value), requestPolicy: { default: maxRequest, validRange } }];
    }),
  );
}

function gpuVariables(device: AllocatedDevice<Sharing>): string[] {
  const { result } = device;
  const prefix = variablePrefix("gpu", result.device.slice("gpu-".length));
  const { memory, compute } = result.consumedCapacity ?? {};
  return [
    `${prefix}=${result.device}`,
    ...sharingVariables(configOf(device, defaultSharing)).map((variable) => `${prefix}_${variable}`),
    ...(memory === undefined ? [] : [`${prefix}_MEMORY=${memory}`]),
    ...(compute === undefined ? [] : [`${prefix}_COMPUTE=${compute}`]),
  ];
}

function sharingVariables(sharing: Sharing): string[] {
  return [
    `SHARING_STRATEGY=${sharing.strategy}`,
    sharing.strategy === "TimeSlicing"
      ? `TIMESLICE_INTERVAL=${sharing.interval}`
      : `PARTITION_COUNT=${sharing.partitionCount}`,
  ];
}
