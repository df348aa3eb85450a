import { closeSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Clock } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import { etcdStore, memoryStore, type Store, sqliteStore } from "@dray/store";
import { lostStore } from "./version.ts";

/** Which store a cluster keeps its objects in. */
export type ClusterStore =
  | { readonly type: "sqlite"; readonly path: string }
  | { readonly type: "memory" }
  | {
      readonly type: "etcd";
      /** `http://HOST:PORT` or `https://HOST:PORT` of each member. */
      readonly endpoints: readonly string[];
      /** Prefix of every key: empty, or `/` and more. */
      readonly prefix: string;
      /** PEM files for https, named as kube-apiserver's flags are (`--etcd-cafile` and so on). */
      readonly files: Readonly<Partial<Record<EtcdFile, string>>>;
    };

const etcdFiles = ["cafile", "certfile", "keyfile"] as const;
type EtcdFile = (typeof etcdFiles)[number];

/**
 * `sqlite:PATH`, `memory`, or `etcd:URL,..[/PREFIX][?cafile=PATH&certfile=PATH&keyfile=PATH]`; throws on
 * anything else.
 */
export function parseStore(text: string): ClusterStore {
  if (text === "memory") return { type: "memory" };
  const [type, rest] = text.split(/:(.*)/s) as [string, string | undefined];
  if (type === "sqlite" && rest) return { type: "sqlite", path: resolve(rest) };
  if (type === "etcd" && rest) return parseEtcd(rest);
  throw new Error("must be sqlite:PATH, etcd:URL or memory");
}

function parseEtcd(text: string): ClusterStore {
  const [urls, query] = text.split(/\?(.*)/s) as [string, string | undefined];
  // The path of the last URL is that of all.
  const [, members, path = ""] = /^(.*:\/\/[^/]*)(\/[^,]*)?$/s.exec(urls) ?? [undefined, urls];
  const prefix = path.replace(/\/+$/, "");
  const endpoints = members.split(",");
  for (const endpoint of endpoints) {
    if (!/^https?:\/\/[^/@,\s]+:\d+$/.test(endpoint)) {
      throw new Error(`${JSON.stringify(endpoint)} must be http://HOST:PORT or https://HOST:PORT`);
    }
  }
  const files: Partial<Record<EtcdFile, string>> = {};
  for (const [name, path] of new URLSearchParams(query ?? "")) {
    const file = etcdFiles.find((candidate) => candidate === name);
    if (file === undefined || path === "")
      throw new Error(`?${name}=${path} must be one of ${etcdFiles.join(", ")}, and a path`);
    files[file] = resolve(path);
  }
  if ((files.certfile === undefined) !== (files.keyfile === undefined)) {
    throw new Error("certfile and keyfile go together");
  }
  return { type: "etcd", endpoints, prefix, files };
}

/** The text that `parseStore` reads, with absolute paths: means the same from any folder. */
export function formatStore(store: ClusterStore): string {
  if (store.type === "memory") return "memory";
  if (store.type === "sqlite") return `sqlite:${store.path}`;
  const files = etcdFiles.flatMap((name) => {
    const path = store.files[name];
    return path === undefined ? [] : [`${name}=${encodeURIComponent(path)}`];
  });
  const query = files.length === 0 ? "" : `?${files.join("&")}`;
  return `etcd:${store.endpoints.join(",")}${store.prefix}${query}`;
}

/** Throws if the database of a cluster that has been started before is missing or empty. */
export function checkStoreFile(store: ClusterStore, dataDir: string): void {
  if (store.type !== "sqlite") return;
  const size = statSync(store.path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) throw lostStore(formatStore(store), dataDir);
}

/**
 * Opens the store; one in an etcd connects with its first use. Throws where a file cannot be read or written.
 */
export function openStore(store: ClusterStore, clock: Clock): Store {
  if (store.type === "memory") return memoryStore(clock);
  if (store.type === "etcd") {
    const { endpoints, prefix, files } = store;
    const { cafile, certfile, keyfile } = files;
    return etcdStore(
      {
        endpoints,
        prefix,
        ...(cafile !== undefined && { authority: readFileSync(cafile) }),
        ...(certfile !== undefined && { certificate: readFileSync(certfile) }),
        ...(keyfile !== undefined && { key: readFileSync(keyfile) }),
      },
      clock,
    );
  }
  try {
    makeFolderSync(dirname(store.path), 0o700);
    // Secrets are in it, and SQLite gives its other files the mode of this one.
    closeSync(openSync(store.path, "a", 0o600));
  } catch (error) {
    const { message } = error as Error;
    throw new Error(
      `${store.path} cannot be opened for writing: ${message}; use another store (--data-dir, --store)`,
      { cause: error },
    );
  }
  return sqliteStore(store.path, clock);
}
