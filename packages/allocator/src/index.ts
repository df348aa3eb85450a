export * from "./allocator.ts";
export { createAllocator } from "./create.ts";
export { allocatorFeatures } from "./features.ts";
export { ruleTaints } from "./taints.ts";
