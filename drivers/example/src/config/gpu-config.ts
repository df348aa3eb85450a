import { configReader, shown } from "./reader.ts";

/** `GpuConfig` of `gpu.resource.example.com/v1alpha1`: how containers share a GPU. */
export type Sharing =
  | { readonly strategy: "TimeSlicing"; readonly interval: Interval }
  | { readonly strategy: "SpacePartitioning"; readonly partitionCount: number };

const intervals = ["Default", "Short", "Medium", "Long"] as const;
type Interval = (typeof intervals)[number];

const apiVersion = "gpu.resource.example.com/v1alpha1";
const { object, oneOf, fail } = configReader("GpuConfig");

/** Defaults of a device without a configuration. */
export const defaultSharing: Sharing = { strategy: "TimeSlicing", interval: "Default" };

/**
 * Decodes the opaque parameters of a claim or class. Throws an error that names the field, its value and what
 * is accepted; rejects unknown fields.
 */
export function decodeGpuConfig(parameters: unknown): Sharing {
  const config = object(parameters, "", ["apiVersion", "kind", "sharing"]);
  oneOf(config["apiVersion"], "apiVersion", [apiVersion]);
  oneOf(config["kind"], "kind", ["GpuConfig"]);
  if (config["sharing"] === undefined) return defaultSharing;
  const sharing = object(config["sharing"], "sharing", [
    "strategy",
    "timeSlicingConfig",
    "spacePartitioningConfig",
  ]);
  const strategy = oneOf(sharing["strategy"], "sharing.strategy", ["TimeSlicing", "SpacePartitioning"]);
  const [mine, other] =
    strategy === "TimeSlicing"
      ? (["timeSlicingConfig", "spacePartitioningConfig"] as const)
      : (["spacePartitioningConfig", "timeSlicingConfig"] as const);
  if (sharing[other] !== undefined) fail(`sharing.${other}`, `cannot be used with strategy ${strategy}`);
  const path = `sharing.${mine}`;
  if (strategy === "TimeSlicing") {
    const { interval = "Default" } = object(sharing[mine] ?? {}, path, ["interval"]);
    return { strategy, interval: oneOf(interval, `${path}.interval`, intervals) };
  }
  const { partitionCount = 1 } = object(sharing[mine] ?? {}, path, ["partitionCount"]);
  if (!Number.isInteger(partitionCount) || (partitionCount as number) < 1) {
    fail(`${path}.partitionCount`, `${shown(partitionCount)} must be a positive integer`);
  }
  return { strategy, partitionCount: partitionCount as number };
}
