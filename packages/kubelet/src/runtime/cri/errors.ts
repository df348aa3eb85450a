import { RpcError } from "@dray/rpc";
import { RuntimeError } from "../error.ts";

/** Converts an error of the runtime, with the reason that Kubernetes shows for it. */
export function runtimeError(reason: string, error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error;
  const message = error instanceof RpcError ? error.detail : (error as Error).message;
  return new RuntimeError(reason, message, { cause: error });
}

/** Resolves with the response of a call, or `undefined` if the runtime does not have its object. */
export async function found<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (RpcError.is(error, "NotFound")) return undefined;
    throw error;
  }
}
