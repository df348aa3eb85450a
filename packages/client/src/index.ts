export * from "./client.ts";
export * from "./clock.ts";
export * from "./exchange.ts";
export * from "./informer.ts";
export * from "./log.ts";
