/** Longest chain of causes that is shown. */
const maxCauses = 5;

/** Serializer of errors. pino's own serializer marks what it has seen, and errors of the API are frozen. */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const { reason, code, status } = error as {
    reason?: unknown;
    code?: unknown;
    status?: { details?: unknown };
  };
  return {
    type: error.name,
    message: error.message,
    ...(reason === undefined ? {} : { reason }),
    ...(code === undefined ? {} : { code }),
    ...(status?.details === undefined ? {} : { details: status.details }),
    stack: error.stack,
    ...(error.cause === undefined || depth === maxCauses
      ? {}
      : { cause: describeError(error.cause, depth + 1) }),
  };
}

/** For pino: both names under which an error is logged. */
export const serializers = {
  err: (error: unknown) => describeError(error),
  error: (error: unknown) => describeError(error),
};
