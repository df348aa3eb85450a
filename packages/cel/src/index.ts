export * from "./environment.ts";
