/** The kinds that `dray explain` supports. */
export const kindWords = ["pod", "claim", "node", "device", "class", "slice"] as const;
