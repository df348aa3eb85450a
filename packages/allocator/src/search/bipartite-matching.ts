/** Whether all slots can have something of their own at once (bipartite matching, by augmenting paths). */
export function allMatched<T>(slots: readonly ReadonlySet<T>[]): boolean {
  const owner = new Map<T, number>();
  const place = (slot: number, visited: Set<T>): boolean => {
    for (const thing of slots[slot]!) {
      if (visited.has(thing)) continue;
      visited.add(thing);
      const other = owner.get(thing);
      if (other !== undefined && !place(other, visited)) continue;
      owner.set(thing, slot);
      return true;
    }
    return false;
  };
  return slots.every((_, slot) => place(slot, new Set()));
}
