import type { Kind, KubeObject } from "@dray/api";
import type { Informer, InformerOptions } from "../informer/informer.ts";
import type { ResourceClient } from "../rest/resource-client.ts";

/** A connection to one API server as one user. */
export interface Client {
  /** `ignoreWarnings`: warnings of the server, such as a deprecated version, are not logged. */
  resource<T extends KubeObject>(kind: Kind<T>, options?: { ignoreWarnings?: boolean }): ResourceClient<T>;
  /** Makes a new synchronized cache of a kind (`Informer`). Components should share one. */
  informer<T extends KubeObject>(kind: Kind<T>, options?: InformerOptions<T>): Informer<T>;
  /** Sends a request by path, for what has no kind: discovery, logs, health. Returns the body as text. */
  text(
    method: string,
    url: string,
    options?: { body?: object; headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<string>;
  /** Returns a stream of bytes by path: `GET .../log?follow=true`. */
  stream(url: string, options?: { signal?: AbortSignal }): AsyncIterable<Uint8Array>;
  close(): void;
}
