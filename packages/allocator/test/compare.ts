import type { Answer } from "./reference.ts";

/**
 * An answer in a form in which answers that mean the same are deeply equal: empty fields are as good as none, maps have
 * no order, and texts that other libraries word are cut off.
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
