import { createRequire } from "node:module";

type Grpc = typeof import("@grpc/grpc-js");

let loaded: Grpc | undefined;

/**
 * grpc-js takes about 15 MiB (two thirds of it `node:http2`), so it is loaded when a socket is first used.
 */
export function grpc(): Grpc {
  loaded ??= createRequire(import.meta.url)("@grpc/grpc-js") as Grpc;
  return loaded;
}
