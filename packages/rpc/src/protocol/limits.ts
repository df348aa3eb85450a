/** Maximum size of a received message, gRPC's default in Go, which the kubelet and drivers keep. */
export const maxMessageBytes = 4 << 20;

/** Maximum length of an error text of the other side, in characters. */
export const maxDetail = 4096;
