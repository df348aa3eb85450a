/**
 * Reports whether each slot can have an element of its own (maximum bipartite matching by augmenting paths).
 */
export function hasPerfectMatching<T>(slots: readonly ReadonlySet<T>[]): boolean {
  const slotOf = new Map<T, number>();
  const place = (slot: number, visited: Set<T>): boolean => {
    for (const element of slots[slot]!) {
      if (visited.has(element)) continue;
      visited.add(element);
      const other = slotOf.get(element);
      if (other !== undefined && !place(other, visited)) continue;
      slotOf.set(element, slot);
      return true;
    }
    return false;
  };
  return slots.every((_, slot) => place(slot, new Set()));
}
