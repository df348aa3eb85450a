import { StatusError } from "@dray/api";
import { StoreTimeoutError } from "@dray/store";
import { serverError } from "../errors/status.ts";

/** What a read answers that the store has failed: its silence is worded as that of the whole request. */
export function readFailure(error: unknown): StatusError {
  return failure(error, "request did not complete within the allotted timeout");
}

/** What a write answers that the store has failed, as kube-apiserver words it when etcd is silent. */
export function writeFailure(error: unknown): StatusError {
  return failure(error, "request did not complete within requested timeout - context deadline exceeded");
}

/** Errors other than a timeout are passed through unchanged, as kube-apiserver does. */
function failure(error: unknown, silence: string): StatusError {
  if (!(error instanceof StoreTimeoutError)) return serverError((error as Error).message);
  return StatusError.of("Timeout", `Timeout: ${silence}`, {});
}

/** The store has answered, but its watch has not shown what it said. */
export function lagging(what: string): StatusError {
  return StatusError.of("Timeout", `the watch cache has not reached ${what}`);
}
