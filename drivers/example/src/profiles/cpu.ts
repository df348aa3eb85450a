import type { Device } from "@dray/api/resource/v1";
import type { AllocatedDevice } from "@dray/driver";
import { noParameters } from "../config/reader.ts";
import { type Profile, variablePrefix } from "./profile.ts";

export interface CpuOptions {
  readonly numaNodes: number;
  readonly cpusPerNumaNode: number;
}

/**
 * NUMA nodes whose CPUs claims share. The CPUs of a claim also count as the node's own CPU (KEP-5517), if the
 * server has the feature gate DRANodeAllocatableResources. Names as in the public example driver.
 */
export function cpuProfile(driverName: string, { numaNodes, cpusPerNumaNode }: CpuOptions): Profile<never> {
  // Includes the driver's name: drivers of this profile must not mix.
  const capacityKey = `${driverName}/cpu`;
  return {
    name: "cpu",
    pool: {
      devices: Array.from(
        { length: numaNodes },
        (_, index): Device => ({
          name: `numa-${index}`,
          attributes: { numaNodeID: { int: index } },
          allowMultipleAllocations: true,
          capacity: { [capacityKey]: { value: String(cpusPerNumaNode) } },
          // The field was renamed in 1.37: a server keeps the one that it knows.
          nodeAllocatableResourceMappings: { cpu: { capacityKey } },
          nodeAllocatableResources: { cpu: { mapping: { capacityKey, capacityMultiplier: "1" } } },
        }),
      ),
    },
    parameters: noParameters,
    variables({ result }: AllocatedDevice<never>) {
      const prefix = variablePrefix("cpu", result.device.slice("numa-".length));
      const consumed = result.consumedCapacity?.[capacityKey];
      return [
        `${prefix}=${result.device}`,
        ...(consumed === undefined ? [] : [`${prefix}_CONSUMED_CPU=${consumed}`]),
      ];
    },
  };
}
