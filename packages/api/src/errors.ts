import type { Status, StatusCause, StatusDetails } from "./generated/meta/v1.ts";
import { quoted } from "./quoted.ts";

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

/** Types of field errors: the words that messages show, and the reason of their cause (field.ErrorType). */
export const fieldErrorTypes = {
  Required: "Required value",
  Invalid: "Invalid value",
  Duplicate: "Duplicate value",
  NotSupported: "Unsupported value",
  Forbidden: "Forbidden",
  TooLong: "Too long",
  TooMany: "Too many",
  NotFound: "Not found",
  TypeInvalid: "Invalid value",
  InternalError: "Internal error",
} as const;

export type FieldErrorType = keyof typeof fieldErrorTypes;

/** One thing that is wrong with an object: where, what, which value, and what would be accepted. */
export interface FieldError {
  readonly type: FieldErrorType;
  /** `spec.devices.requests[0].name` */
  readonly path: string;
  /** What follows the type after a colon, already as text (strings quoted); absent where the form has none. */
  readonly value?: string;
  readonly detail: string;
}

/** `<path>: <Type>[: <value>][: <detail>]` */
export function fieldErrorText(error: FieldError): string {
  return `${error.path}: ${fieldErrorMessage(error)}`;
}

function fieldErrorMessage(error: FieldError): string {
  return [fieldErrorTypes[error.type], error.value, error.detail || undefined]
    .filter((x) => x !== undefined)
    .join(": ");
}

/**
 * Characters of field errors that an answer has about: what comes after is left out. Kubernetes has no such limit, and
 * answers a request of 2 MiB with 200 MiB where each of many values is told all that it may be; nobody reads beyond
 * the first thousands of errors, and those are here.
 */
export const mostErrorText = 2 ** 20;

function withinLimit(errors: readonly FieldError[]): readonly FieldError[] {
  let text = 0;
  const end = errors.findIndex(({ path, value = "", detail }) => {
    text += path.length + value.length + detail.length;
    return text > mostErrorText;
  });
  return end < 0 ? errors : errors.slice(0, end + 1);
}

/** 422 `<Kind> "<name>" is invalid: ...`, one cause for each field error. `given`: undefined where none is given yet. */
export function invalid(
  kind: { readonly group: string; readonly kind: string },
  given: string | undefined,
  all: readonly FieldError[],
): StatusError {
  const name = given ?? "";
  const errors = withinLimit(all);
  const causes: StatusCause[] = errors.map((error) => ({
    reason: error.type === "InternalError" ? error.type : `FieldValue${error.type}`,
    message: fieldErrorMessage(error),
    field: error.path,
  }));
  const texts = [...new Set(errors.map(fieldErrorText))];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const qualified = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  return StatusError.of("Invalid", `${qualified} ${quoted(name)} is invalid: ${list}`, {
    name,
    ...(kind.group === "" ? {} : { group: kind.group }),
    kind: kind.kind,
    causes,
  });
}
