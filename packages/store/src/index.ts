export type { StoreClock } from "./clock.ts";
export { memoryStore } from "./memory.ts";
export { sqliteStore } from "./sqlite.ts";
export * from "./store.ts";
