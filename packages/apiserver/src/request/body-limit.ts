import { StatusError } from "@dray/api";
import { countValues, TooManyValuesError } from "@dray/api/codec";

/** Maximum size of the body of a request, in bytes. */
export const bodyLimit = 3_145_728;

/**
 * Maximum number of fields, keys and elements in an object without its managedFields, and in a patch: a step
 * of a request may take about a microsecond for each of them, and is not interrupted.
 */
const maxValues = 100_000;
/** Maximum number of them in a body: objects are sent with managedFields, too. */
export const maxBodyValues = 150_000;

/** Runs what may throw TooManyValuesError; throws 413 instead. */
export async function withinValueLimit<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof TooManyValuesError ? tooManyValues("the body", error) : error;
  }
}

/**
 * Throws 413 if an object or a patch has too many values; `what` names it, and `values` is how many it has if
 * that is known.
 */
export function checkValues(tree: unknown, what: string, values?: number): void {
  try {
    checkValueCount(tree, values);
  } catch (error) {
    throw error instanceof TooManyValuesError ? tooManyValues(what, error) : error;
  }
}

/** Throws TooManyValuesError in place of 413. */
export function checkValueCount(tree: unknown, values?: number): void {
  if (values !== undefined && values <= maxValues) return;
  const managed = managedFieldsOf(tree);
  if (values === undefined) countValues(tree, maxValues, managed);
  else if (values - countValues(managed) > maxValues) throw new TooManyValuesError(maxValues);
}

function managedFieldsOf(tree: unknown): unknown {
  const { metadata } = (tree ?? {}) as { metadata?: { managedFields?: unknown } | null };
  return metadata?.managedFields;
}

function tooManyValues(what: string, { limit }: TooManyValuesError): StatusError {
  return StatusError.of(
    "RequestEntityTooLarge",
    `Request entity too large: ${what} has more than ${limit} fields, keys and elements; divide it into several objects`,
  );
}
