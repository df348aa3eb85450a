export { createAllocator } from "./allocator.ts";
export type {
  ClaimExplanation,
  ExplainOptions,
  Explanation,
  RefusalGroup,
  RequestExplanation,
  SelectorDetails,
} from "./explain/explanation.ts";
export { allocatorFeatures, type Features } from "./features/features.ts";
export type { Corrections } from "./features/policies.ts";
export type { Candidates } from "./inventory/candidate-nodes.ts";
export { DeviceInUseError, type Overdrawn, type Reservation } from "./inventory/reservation.ts";
export type { Check } from "./rules/check.ts";
export { heldCapacity } from "./rules/held-capacity.ts";
export { ruleTaints } from "./rules/taints.ts";
export type { AllocateResult, Allocator, AllocatorEvent, AllocatorOptions } from "./types.ts";
