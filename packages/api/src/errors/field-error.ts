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
  /**
   * What follows the type after a colon, already as text (strings quoted); absent where the form has none.
   */
  readonly value?: string;
  readonly detail: string;
}

/** `<path>: <Type>[: <value>][: <detail>]` */
export function fieldErrorText(error: FieldError): string {
  return `${error.path}: ${fieldErrorMessage(error)}`;
}

/** The same without the path, as a cause of a Status has it. */
export function fieldErrorMessage(error: FieldError): string {
  return [fieldErrorTypes[error.type], error.value, error.detail || undefined]
    .filter((x) => x !== undefined)
    .join(": ");
}
