export * from "./allocator.ts";
