/** The kinds that `dray explain` supports. */
export const kindWords = [
  ...["pod", "claim", "node", "device", "class", "slice", "devicetaintrule"],
  ...["deployment", "statefulset", "daemonset", "job", "replicaset", "podgroup"],
] as const;
