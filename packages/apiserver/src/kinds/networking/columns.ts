export const shownItems = 3;

/** The first items of a list, and how many there are beyond. */
export const listText = (items: readonly string[], empty: string, count = items.length): string =>
  count > shownItems
    ? `${items.slice(0, shownItems).join(",")} + ${count - shownItems} more...`
    : items.join(",") || empty;
