import type { AllocatedDevice, Pool, StandardSchema } from "@dray/driver";

/** One type of simulated devices. `C` is the configuration in claims and classes. */
export interface Profile<C = unknown> {
  /** The class of the CDI devices, and in upper case the prefix of the variables: `gpu`. */
  readonly name: string;
  readonly pool: Pool;
  readonly parameters: StandardSchema<C>;
  /** The attributes that are written to `status.devices[].data` of claims. */
  readonly statusAttributes?: readonly string[];
  /** Returns the variables that show a container its devices: `NAME=value`. */
  variables(device: AllocatedDevice<C>): string[];
}

/** Returns the last configuration; the claim's takes precedence over the class's. */
export function configOf<C>({ configs }: AllocatedDevice<C>, fallback: C): C {
  return configs.at(-1)?.parameters ?? fallback;
}

/** The prefix of a device's variables: `GPU_DEVICE_0_PARTITION_1` for the ID `0-partition-1`. */
export function variablePrefix(profile: string, id: string): string {
  return `${profile}_DEVICE_${id}`.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
}
