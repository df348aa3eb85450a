import type { AllocatedDevice, Pool, StandardSchema } from "@dray/driver";

/** One kind of simulated devices. `C` is what claims and classes can configure. */
export interface Profile<C = unknown> {
  /** The class of the CDI devices; in capitals the beginning of the variables: `gpu`. */
  readonly name: string;
  readonly pool: Pool;
  readonly parameters: StandardSchema<C>;
  /** The attributes of devices that claims get in `status.devices[].data`. */
  readonly statusAttributes?: readonly string[];
  /** The variables that show a container what it got: `NAME=value`. */
  variables(device: AllocatedDevice<C>): string[];
}

/** The last configuration counts: the claim's before the class's. */
export function configOf<C>({ configs }: AllocatedDevice<C>, fallback: C): C {
  return configs.at(-1)?.parameters ?? fallback;
}

/** The variables of a device begin with it: `GPU_DEVICE_0_PARTITION_1` for the ID `0-partition-1`. */
export function variablePrefix(profile: string, id: string): string {
  return `${profile}_DEVICE_${id}`.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
}
