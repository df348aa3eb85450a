import { RpcError } from "@dray/rpc";
import { RuntimeError } from "../error.ts";

/** What the runtime refused, with the reason that Kubernetes shows for it. */
export function runtimeError(reason: string, error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error;
  const message = error instanceof RpcError ? error.detail : (error as Error).message;
  return new RuntimeError(reason, message, { cause: error });
}

/** The answer of a call, or `undefined` where the runtime does not know what it is about. */
export async function found<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (RpcError.is(error, "NotFound")) return undefined;
    throw error;
  }
}
