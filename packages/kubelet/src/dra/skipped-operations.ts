import type { AllocationResult } from "@dray/api/resource/v1";

/** A call that a driver does not need for its devices, as in `skipNodeOperations`; `*` stands for all. */
export type SkipNodeOperation = string;

/**
 * Drivers of an allocation with the operations that they skip: those that all of their devices skip
 * (KEP-5945).
 *
 * Upstream: pkg/kubelet/cm/dra/claiminfo.go, computeDriverStates.
 */
export function skippedOperations({
  devices,
}: AllocationResult): ReadonlyMap<string, readonly SkipNodeOperation[]> {
  const byDriver = Map.groupBy(devices?.results ?? [], ({ driver }) => driver);
  return new Map(
    [...byDriver].map(([driver, results]) => {
      const named = results.map(({ skipNodeOperations }) => skipNodeOperations ?? []);
      if (named.every((operations) => operations.includes("*"))) return [driver, ["*"]];
      const all = new Set(named.flat().filter((operation) => operation !== "*"));
      const common = [...all].filter((operation) =>
        named.every((operations) => operations.includes("*") || operations.includes(operation)),
      );
      return [driver, common.sort()];
    }),
  );
}

/** Reports whether a driver with these `operations` skips this one. */
export function skips(
  operations: readonly SkipNodeOperation[] | undefined,
  operation: "NodePrepareResources" | "NodeUnprepareResources",
): boolean {
  return operations?.includes("*") === true || operations?.includes(operation) === true;
}
