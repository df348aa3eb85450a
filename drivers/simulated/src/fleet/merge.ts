import { FleetError, type FleetProblem, shown, type Value } from "../source/value.ts";
import type { FleetDriver, FleetNode } from "./fleet.ts";

/** Drivers of one name become one. Throws a FleetError that says of what if they do not go together. */
export function merged(value: Value, what: string, drivers: readonly FleetDriver[]): FleetDriver[] {
  try {
    return mergeDrivers(drivers);
  } catch (error) {
    if (!(error instanceof MergeError)) throw error;
    return value.fail(`${what}: ${error.message}`);
  }
}

/** A pool is known by its driver and its name in the whole cluster. */
export function checkPoolNames(nodes: readonly FleetNode[], value: Value): void {
  const owners = new Map<string, string>();
  const problems: FleetProblem[] = [];
  for (const node of nodes)
    for (const driver of node.drivers)
      for (const { name, reach } of driver.pools) {
        if (reach !== undefined) continue;
        const key = JSON.stringify([driver.name, name]);
        const other = owners.get(key);
        owners.set(key, other ?? node.name);
        if (other !== undefined && problems.length === 0)
          problems.push(
            value.problem(
              `pool ${shown(name)} of ${driver.name} is on ${other} and on ${node.name}: use {node} in its name`,
            ),
          );
      }
  if (problems.length > 0) throw new FleetError(problems);
}

class MergeError extends Error {
  override readonly name = "MergeError";
}

function mergeDrivers(drivers: readonly FleetDriver[]): FleetDriver[] {
  const merged = new Map<string, FleetDriver>();
  for (const driver of drivers) {
    const known = merged.get(driver.name);
    if (known === undefined) {
      checkPools(driver);
      merged.set(driver.name, driver);
      continue;
    }
    if (JSON.stringify(known.profile) !== JSON.stringify(driver.profile))
      throw new MergeError(
        `driver ${driver.name} has profile ${shown(known.profile)} in one place and ${shown(driver.profile)} in another`,
      );
    if (JSON.stringify(known.metadata) !== JSON.stringify(driver.metadata))
      throw new MergeError(
        `driver ${driver.name} has metadata ${shown(known.metadata ?? [])} in one place and ${shown(driver.metadata ?? [])} in another`,
      );
    const both = { ...known, pools: [...known.pools, ...driver.pools] };
    checkPools(both);
    merged.set(driver.name, both);
  }
  return [...merged.values()];
}

function checkPools({ name, pools }: FleetDriver): void {
  const twice = pools.find((pool, i) => pools.findIndex((other) => other.name === pool.name) < i);
  if (twice !== undefined)
    throw new MergeError(`driver ${name} has pool ${shown(twice.name)} twice: give one of them another name`);
}
