export const shownItems = 3;

/** Returns the first items of a list and the number of the others. */
export const listText = (items: readonly string[], empty: string, count = items.length): string =>
  count > shownItems
    ? `${items.slice(0, shownItems).join(",")} + ${count - shownItems} more...`
    : items.join(",") || empty;
