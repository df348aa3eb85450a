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

/** One error of an object: the path, the type, the value, and what would be accepted. */
export interface FieldError {
  readonly type: FieldErrorType;
  /** `spec.devices.requests[0].name` */
  readonly path: string;
  /** The text after the type and a colon (strings quoted); absent if the message has no value. */
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
