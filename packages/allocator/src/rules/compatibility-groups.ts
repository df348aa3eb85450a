import { intersection, isDisjoint } from "./sets.ts";

/**
 * Compatibility groups that all devices on a counter set share (KEP-5963): `any` if no device is allocated
 * yet, `none` if the devices have no groups.
 */
export type OpenGroups = "any" | "none" | ReadonlySet<string>;

export const anyGroups: OpenGroups = "any";

/** Reports whether a device with these groups may join: it shares a group, or neither side has any. */
export function admitsGroups(open: OpenGroups, groups: ReadonlySet<string>): boolean {
  if (open === "any") return true;
  if (open === "none" || groups.size === 0) return open === "none" && groups.size === 0;
  return !isDisjoint(open, groups);
}

/** Returns the groups that remain open after a device with these groups has joined. */
export function joinGroups(open: OpenGroups, groups: ReadonlySet<string>): OpenGroups {
  if (open === "any") return groups.size === 0 ? "none" : groups;
  // Allocated devices may contradict each other: then the groups of the first ones count.
  if (open === "none" || groups.size === 0) return open;
  return intersection(open, groups);
}
