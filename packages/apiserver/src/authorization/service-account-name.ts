/** Begins the user name of a service account: `system:serviceaccount:<namespace>:<name>`. */
export const serviceAccountPrefix = "system:serviceaccount:";
