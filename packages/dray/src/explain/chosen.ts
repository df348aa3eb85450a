import type { Check } from "@dray/allocator";
import type { Inventory } from "../inventory/inventory.ts";
import { claimOf, classShape } from "../inventory/shapes.ts";
import { counted, names } from "../text/words.ts";
import type { Fact } from "./data.ts";

/** The devices that a class selects, allocated or free. */
export interface ChosenDevices {
  readonly ids: ReadonlySet<string>;
  /** Devices that nodes can reach. */
  readonly seen: number;
  /** Results of its selectors for the other devices, the most frequent first. */
  readonly refusals: readonly Fact[];
}

/** Checks that depend on the properties of a device only. */
const propertyChecks: ReadonlySet<Check> = new Set(["class-selector", "error", "node", "pool", "gate"]);
/** Maximum number of reported reasons. */
const maxRefusals = 5;

export function chosenBy(inventory: Inventory, name: string): ChosenDevices {
  const { allocator, world } = inventory;
  const claim = claimOf(classShape(name));
  const [ids, seen] = [new Set<string>(), new Set<string>()];
  const refused = new Map<string, Set<string>>();
  for (const { object: node } of world.all("Node")) {
    const { claims } = allocator.explain(node, [claim], { allDevices: true });
    for (const { suitableDevices = [], refused: groups } of claims.flatMap(({ requests }) => requests)) {
      for (const id of suitableDevices) ids.add(id);
      for (const { check, cause, devices } of groups) {
        for (const id of devices) {
          seen.add(id);
          if (!propertyChecks.has(check)) ids.add(id);
          else refused.set(cause, (refused.get(cause) ?? new Set()).add(id));
        }
      }
    }
  }
  for (const id of ids) seen.add(id);
  const refusals = [...refused]
    .toSorted(([, a], [, b]) => b.size - a.size)
    .slice(0, maxRefusals)
    .map(([cause, devices]) => ({
      name: "not chosen",
      value: `${counted(devices.size, "device")} (${names([...devices])}): ${cause}`,
    }));
  return { ids, seen: seen.size, refusals };
}
