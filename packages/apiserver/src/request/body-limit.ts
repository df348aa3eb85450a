/** Maximum size of the body of a request, in bytes. */
export const bodyLimit = 3_145_728;
