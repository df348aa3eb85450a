/**
 * Sorts the problems of a patched object (`unknown field "spec.a"`) in upstream's order: patching rebuilds
 * maps with sorted keys. `untouched`: paths of values that a JSON patch added unchanged.
 */
export function sortProblems(problems: readonly string[], untouched: readonly string[] = []): string[] {
  const values = new UntouchedValues(untouched);
  const parsed = problems.map((text) => {
    const path = segmentsOf(/"(.*)"$/.exec(text)?.[1] ?? "");
    return { text, path, value: values.around(path) };
  });
  return parsed
    .toSorted((a, b) => {
      if (a.value !== undefined && a.value === b.value) return 0;
      for (const [index, segment] of a.path.entries()) {
        const order = compareSegments(segment, b.path[index]);
        if (order !== 0) return order;
      }
      return a.path.length - b.path.length;
    })
    .map(({ text }) => text);
}

/** The paths of values as a tree: finding the value around a path takes the length of the path. */
class UntouchedValues {
  readonly #root: PathNode = { children: new Map(), isValue: false };

  constructor(paths: readonly string[]) {
    for (const path of paths) {
      let node = this.#root;
      for (const segment of segmentsOf(path)) {
        let child = node.children.get(segment);
        if (child === undefined) {
          child = { children: new Map(), isValue: false };
          node.children.set(segment, child);
        }
        node = child;
      }
      node.isValue = true;
    }
  }

  /** The outermost value that contains a path: two paths are within one value if theirs are the same. */
  around(path: readonly string[]): object | undefined {
    let node: PathNode | undefined = this.#root;
    for (const segment of path) {
      node = node.children.get(segment);
      if (node === undefined || node.isValue) return node;
    }
    return undefined;
  }
}

interface PathNode {
  readonly children: Map<string, PathNode>;
  isValue: boolean;
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
