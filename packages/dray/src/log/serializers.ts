/** Maximum number of causes of an error. */
const maxCauses = 5;

/** Serializes errors. pino's own serializer adds a mark to each error, and errors of the API are frozen. */
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

/** For pino: the two names under which errors are logged. */
export const serializers = {
  err: (error: unknown) => describeError(error),
  error: (error: unknown) => describeError(error),
};
