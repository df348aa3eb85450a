export { type CrashStep, crashSteps } from "../claims/claims.ts";
export type { ContainerView } from "./container.ts";
export { checkCrashes } from "./crashes.ts";
export {
  type AllocateDevice,
  type ClaimOptions,
  type DriverNode,
  type DriverNodeOptions,
  type PreparedView,
  startDriverNode,
  type TestClaim,
} from "./node.ts";
