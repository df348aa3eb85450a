/** Rules about pods that several components apply: each stands here once. */
export { podClaimName } from "./claims.ts";
export { isSidecar, restartsAfter, sidecarsOf } from "./containers.ts";
export { isPodActive, isPodReady, isPodTerminal, type PodWithPhase } from "./phase.ts";
