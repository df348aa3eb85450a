export { type CrashStep, crashSteps } from "../claims/steps.ts";
export type { AllocateDevice, ClaimOptions, PreparedView, TestClaim } from "./claims.ts";
export type { ContainerView } from "./container.ts";
export { checkCrashes } from "./crashes.ts";
export { type DriverNode, type DriverNodeOptions, startDriverNode } from "./node.ts";
