import { intersection, isDisjoint } from "./sets.ts";

/** What the devices on one counter set have in common: anything yet, no groups at all, or these groups. */
export type OpenGroups = "any" | "none" | ReadonlySet<string>;

export const anyGroups: OpenGroups = "any";

/** Whether a device of such groups may join: one in common, or neither has any (KEP-5691). */
export function admits(open: OpenGroups, groups: ReadonlySet<string>): boolean {
  if (open === "any") return true;
  if (open === "none" || groups.size === 0) return open === "none" && groups.size === 0;
  return !isDisjoint(open, groups);
}

export function join(open: OpenGroups, groups: ReadonlySet<string>): OpenGroups {
  if (open === "any") return groups.size === 0 ? "none" : groups;
  // Allocated devices may contradict each other; what they leave open is then the groups of the first.
  if (open === "none" || groups.size === 0) return open;
  return intersection(open, groups);
}
