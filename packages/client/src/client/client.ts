import type { Kind, KubeObject } from "@dray/api";
import type { Informer, InformerOptions } from "../informer/informer.ts";
import type { ResourceClient } from "./resource-client.ts";

/** A connection to one API server as one user. */
export interface Client {
  /** With `ignoreWarnings`, what the server warns of (a deprecated version, say) is not logged. */
  resource<T extends KubeObject>(kind: Kind<T>, options?: { ignoreWarnings?: boolean }): ResourceClient<T>;
  /** A synchronised cache of a kind; see `Informer`. One is made for each call: share it where you can. */
  informer<T extends KubeObject>(kind: Kind<T>, options?: InformerOptions<T>): Informer<T>;
  /** A request by path, for what has no kind: discovery, logs, health. The body is returned as text. */
  text(
    method: string,
    url: string,
    options?: { body?: object; headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<string>;
  /** A stream of bytes by path: `GET .../log?follow=true`. */
  stream(url: string, options?: { signal?: AbortSignal }): AsyncIterable<Uint8Array>;
  close(): void;
}
