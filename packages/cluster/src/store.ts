import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Clock } from "@dray/client";
import { memoryStore, type Store, sqliteStore } from "@dray/store";

/** Which store a cluster keeps its objects in. */
export type ClusterStore = { readonly type: "sqlite"; readonly path: string } | { readonly type: "memory" };

/** `sqlite:PATH` or `memory`; throws on anything else. */
export function parseStore(text: string): ClusterStore {
  if (text === "memory") return { type: "memory" };
  const [type, path] = text.split(/:(.*)/s) as [string, string | undefined];
  if (type === "sqlite" && path) return { type: "sqlite", path: resolve(path) };
  throw new Error("must be sqlite:PATH or memory");
}

/** `sqlite:PATH` with an absolute path, or `memory`: means the same from any folder. */
export function formatStore(store: ClusterStore): string {
  return store.type === "memory" ? "memory" : `sqlite:${store.path}`;
}

export function openStore(store: ClusterStore, clock: Clock): Store {
  if (store.type === "memory") return memoryStore(clock);
  mkdirSync(dirname(store.path), { recursive: true, mode: 0o700 });
  // Secrets are in it, and SQLite gives its other files the mode of this one.
  closeSync(openSync(store.path, "a", 0o600));
  return sqliteStore(store.path, clock);
}
