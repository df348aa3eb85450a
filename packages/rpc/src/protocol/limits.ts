/** Maximum size of a message that is received, as gRPC in Go has it: the kubelet and drivers leave it so. */
export const maxMessageBytes = 4 << 20;

/** Maximum length of what the other side says about an error, in characters. */
export const maxDetail = 4096;
