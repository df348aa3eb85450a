import { StatusError } from "@dray/api";
import { StoreTimeoutError } from "@dray/store";
import { serverError } from "../errors/status.ts";

/** Converts an error of the store to that of a read: a timeout has the message of a request timeout. */
export function readFailure(error: unknown): StatusError {
  return failure(error, "request did not complete within the allotted timeout");
}

/** Converts an error of the store to that of a write, with kube-apiserver's message for an etcd timeout. */
export function writeFailure(error: unknown): StatusError {
  return failure(error, "request did not complete within requested timeout - context deadline exceeded");
}

/** Errors other than a timeout are passed through unchanged. */
function failure(error: unknown, silence: string): StatusError {
  if (!(error instanceof StoreTimeoutError)) return serverError((error as Error).message);
  return StatusError.of("Timeout", `Timeout: ${silence}`, {});
}

/** Creates the error for a watch of the store that does not show what the store has returned. */
export function notCaughtUp(target: string): StatusError {
  return StatusError.of("Timeout", `the watch cache has not reached ${target}`);
}
