import type { AllocationResult } from "@dray/api/resource/v1";

/** A call that a driver does not need for its devices, as `skipNodeOperations` names it; `*` stands for all. */
export type SkipNodeOperation = string;

/**
 * The drivers of an allocation, each with the operations that it is spared: those that all of its devices skip
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

/** Whether a driver that skips `operations` is spared this one. */
export function skips(
  operations: readonly SkipNodeOperation[] | undefined,
  operation: "NodePrepareResources" | "NodeUnprepareResources",
): boolean {
  return operations?.includes("*") === true || operations?.includes(operation) === true;
}
