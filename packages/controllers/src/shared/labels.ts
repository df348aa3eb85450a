/** Label of an EndpointSlice: the name of its Service. */
export const serviceNameLabel = "kubernetes.io/service-name";
