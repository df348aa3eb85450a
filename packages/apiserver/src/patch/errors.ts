import { StatusError } from "@dray/api";

/** 500 without a reason: how the API server answers for an error of its patch libraries that it does not know. */
export function plainError(message: string): StatusError {
  return new StatusError({ status: "Failure", message, code: 500 });
}

/** 422 whose text says nothing: a patch that does not apply. */
export function rejected(): StatusError {
  return new StatusError({
    status: "Failure",
    message: "the server rejected our request due to an error in our request",
    reason: "Invalid",
    details: {},
    code: 422,
  });
}
