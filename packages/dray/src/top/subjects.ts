export const subjects = ["devices", "nodes", "classes", "templates", "claims", "namespaces"] as const;
/** The kind of rows that `dray top` lists. */
export type Subject = (typeof subjects)[number];
