/** Rules of the runtime host for other components on the machine of its nodes. */
export { type Claim, claimName } from "./network/claim.ts";
export { listeningPort, readUnprivilegedPortStart } from "./network/host-ports.ts";
export { podPort } from "./runtime/host/pod-port.ts";
