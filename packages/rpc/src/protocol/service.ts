import type { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire";

/** Encodes and decodes a message; the generated modules have one for each message. */
export interface MessageType<T> {
  encode(message: T, writer?: BinaryWriter): BinaryWriter;
  decode(input: BinaryReader | Uint8Array, length?: number): T;
}

/** A service in the form of the generated modules: `DRAPluginDefinition` and the like. */
export interface ServiceDefinition {
  /** The name on the wire, with its package. */
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition>>;
}

export interface MethodDefinition {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: any message; `RequestOf` and `ResponseOf` recover which one
  readonly requestType: MessageType<any>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly responseType: MessageType<any>;
  readonly requestStream: false;
  readonly responseStream: boolean;
}

export type RequestOf<M> = M extends { requestType: MessageType<infer T> } ? T : never;
export type ResponseOf<M> = M extends { responseType: MessageType<infer T> } ? T : never;

export interface CallContext {
  /** Aborts when the caller disconnects, cancels, or its deadline passes. */
  readonly signal: AbortSignal;
}

/** Methods of a server: a promise for each call, an async iterable for each stream. */
export type Handlers<D extends ServiceDefinition> = {
  readonly [M in keyof D["methods"]]: D["methods"][M]["responseStream"] extends true
    ? (
        request: RequestOf<D["methods"][M]>,
        context: CallContext,
      ) => AsyncIterable<ResponseOf<D["methods"][M]>>
    : (request: RequestOf<D["methods"][M]>, context: CallContext) => Promise<ResponseOf<D["methods"][M]>>;
};

export interface CallOptions {
  /** Milliseconds until the call fails with DeadlineExceeded; without it a call waits for ever. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
}

/** Methods of a client. Everything rejects with `RpcError`. */
export type Caller<D extends ServiceDefinition> = {
  readonly [M in keyof D["methods"]]: D["methods"][M]["responseStream"] extends true
    ? (
        request: RequestOf<D["methods"][M]>,
        options?: CallOptions,
      ) => AsyncIterable<ResponseOf<D["methods"][M]>>
    : (request: RequestOf<D["methods"][M]>, options?: CallOptions) => Promise<ResponseOf<D["methods"][M]>>;
};

/** A definition with its implementation; made by `service`. */
export interface Service {
  readonly definition: ServiceDefinition;
  readonly handlers: Readonly<Record<string, (request: never, context: CallContext) => unknown>>;
}

/** Ties handlers to the definition of their service. */
export function service<D extends ServiceDefinition>(definition: D, handlers: Handlers<NoInfer<D>>): Service {
  return { definition, handlers: handlers as Service["handlers"] };
}
