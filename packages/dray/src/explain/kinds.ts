/** The kinds that `dray explain` knows. */
export const kindWords = ["pod", "claim", "node", "device", "class", "slice"] as const;
