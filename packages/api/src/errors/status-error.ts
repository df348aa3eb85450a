import type { Status, StatusDetails } from "../generated/meta/v1.ts";

/** Reasons of a Status and the HTTP code each goes with (meta/v1 StatusReason). */
export const statusCodes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

export type StatusReason = keyof typeof statusCodes;

/**
 * The one error of the Kubernetes API: thrown by the server, carried over the wire as a `Status` object,
 * and thrown again by the client.
 */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly status: Status;

  constructor(status: Status, options?: ErrorOptions) {
    super(status.message ?? status.reason ?? "unknown error", options);
    this.status = status;
  }

  /** `NotFound`, `Conflict`, ...; undefined where the server gave none. */
  get reason(): string | undefined {
    return this.status.reason;
  }

  /** The HTTP code. */
  get code(): number {
    return this.status.code ?? 500;
  }

  static of(reason: StatusReason, message: string, details?: StatusDetails): StatusError {
    return new StatusError({
      status: "Failure",
      message,
      reason,
      ...(details === undefined ? {} : { details }),
      code: statusCodes[reason],
    });
  }

  /** True for a StatusError of that reason. */
  static is(error: unknown, reason: StatusReason): error is StatusError {
    return error instanceof StatusError && error.reason === reason;
  }
}
