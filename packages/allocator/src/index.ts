export * from "./allocator.ts";
export { createAllocator } from "./create.ts";
