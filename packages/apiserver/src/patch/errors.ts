import { StatusError } from "@dray/api";

/** Creates a 500 without a reason: the API server's response to an unknown error of its patch libraries. */
export function plainError(message: string): StatusError {
  return new StatusError({ status: "Failure", message, code: 500 });
}

/** Creates a 422 with an empty message: a patch that does not apply. */
export function rejected(): StatusError {
  return new StatusError({
    status: "Failure",
    message: "the server rejected our request due to an error in our request",
    reason: "Invalid",
    details: {},
    code: 422,
  });
}
