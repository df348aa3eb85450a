import { quoted, StatusError } from "@dray/api";
import type { Status } from "@dray/api/meta/v1";

/** A webhook could not be asked, or its answer not be understood: the failure policy says what follows. */
export class CallFailure extends Error {}

/** The error for the client of a call that failed, where failures are not ignored. */
export function failed(webhook: string, { message }: CallFailure): StatusError {
  return internalError(`failed calling webhook ${quoted(webhook)}: ${message}`);
}

/** The error for the client of a denied request: the webhook's own status, made an error in any case. */
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

/** The client has disconnected, or its timeout is over: no response is sent. */
export function requestTimeout(): StatusError {
  return StatusError.of("Timeout", "Timeout: request did not complete within requested timeout", {});
}

/** 500 as Kubernetes words what has gone wrong in the server or beyond it. */
export function internalError(message: string): StatusError {
  return StatusError.of("InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });
}
