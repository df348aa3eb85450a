/**
 * Sorts the problems of a patched object (`unknown field "spec.a"`) in upstream's order: patching rebuilds
 * maps with sorted keys. `untouched`: paths of values that a JSON patch added unchanged.
 */
export function sortProblems(problems: readonly string[], untouched: readonly string[] = []): string[] {
  const asSent = untouched.map(segmentsOf);
  const parsed = problems.map((text) => ({ text, path: segmentsOf(/"(.*)"$/.exec(text)?.[1] ?? "") }));
  const within = (path: readonly string[], value: readonly string[]): boolean =>
    value.every((segment, index) => path[index] === segment);
  return parsed
    .toSorted((a, b) => {
      if (asSent.some((value) => within(a.path, value) && within(b.path, value))) return 0;
      for (const [index, segment] of a.path.entries()) {
        const order = compareSegments(segment, b.path[index]);
        if (order !== 0) return order;
      }
      return a.path.length - b.path.length;
    })
    .map(({ text }) => text);
}

/** Returns the paths to which the operations of a JSON patch write, in the notation of problems. */
export function writtenPaths(operations: unknown): string[] {
  if (!Array.isArray(operations)) return [];
  return operations.flatMap((operation: { readonly path?: unknown } | null) => {
    if (typeof operation?.path !== "string") return [];
    const names = operation.path.split("/").slice(1);
    return [
      names
        .map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name}`))
        .join("")
        .slice(1),
    ];
  });
}

/** Splits `spec.containers[0].x` into `spec`, `containers`, `[0]`, `x`. */
function segmentsOf(path: string): string[] {
  return path.split(/\.|(?=\[\d+\])/);
}

function compareSegments(a: string, b: string | undefined): number {
  if (b === undefined) return 1;
  if (a.startsWith("[") && b.startsWith("[")) return Number(a.slice(1, -1)) - Number(b.slice(1, -1));
  return a < b ? -1 : a > b ? 1 : 0;
}
