/** How many slots can have something of their own at once (bipartite matching, by augmenting paths). */
export function matching<T>(slots: readonly ReadonlySet<T>[]): number {
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
  let placed = 0;
  for (let slot = 0; slot < slots.length; slot++) if (place(slot, new Set())) placed++;
  return placed;
}
