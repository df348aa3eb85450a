import type { Answer } from "./reference.ts";

/**
 * Normalizes an answer, so that answers with the same meaning are deeply equal: removes empty fields, and
 * cuts messages where upstream takes the text from another library.
 */
export function comparable(answer: Answer): unknown {
  if ("error" in answer) {
    return {
      error: answer.error
        .replace(/(CEL (compile|runtime) error:|failed to parse node selector).*/s, "$1")
        .replace(/(derived attribute .*? failed:).*/s, "$1")
        .replace(/(failed to perform node selection for device).*/s, "$1"),
    };
  }
  if ("nodeError" in answer) return { nodeError: answer.nodeError };
  return { allocations: answer.allocations?.map((allocation) => clean(allocation) ?? {}) ?? null };
}

function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => clean(item) ?? item);
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value)
      .map(([key, item]) => [key, key === "parameters" ? item : clean(item)] as const)
      .filter(([, item]) => item !== undefined);
    return entries.length === 0 ? undefined : Object.fromEntries(entries);
  }
  return value === "" || value === false || value === null ? undefined : value;
}
