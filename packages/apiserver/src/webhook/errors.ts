import { quoted, StatusError } from "@dray/api";
import type { Status } from "@dray/api/meta/v1";

/** A webhook could not be called, or its response is invalid: the failure policy decides what follows. */
export class CallFailure extends Error {}

/** Creates the client's error where the failure policy is Fail. */
export function failed(webhook: string, { message }: CallFailure): StatusError {
  return internalError(`failed calling webhook ${quoted(webhook)}: ${message}`);
}

/** Creates the client's error when a webhook denies: the webhook's status, always with an error code. */
export function rejected(webhook: string, result: Partial<Status> | undefined): StatusError {
  const denied = `admission webhook ${quoted(webhook)} denied the request`;
  const { status, message, reason, code, details } = result ?? {};
  return new StatusError({
    status: status && status !== "Success" ? status : "Failure",
    message: message || reason ? `${denied}: ${message || reason}` : `${denied} without explanation`,
    ...(reason ? { reason } : {}),
    ...(details === undefined ? {} : { details }),
    code: Math.max(400, Number(code ?? 0)),
  });
}

/** Creates the error of a request whose client has disconnected, or whose time is over. */
export function requestTimeout(): StatusError {
  return StatusError.of("Timeout", "Timeout: request did not complete within requested timeout", {});
}

/** Creates a 500 with Kubernetes' message for an internal error. */
export function internalError(message: string): StatusError {
  return StatusError.of("InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });
}
