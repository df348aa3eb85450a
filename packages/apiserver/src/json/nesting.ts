import { quoted, StatusError } from "@dray/api";
import type { TextNotes } from "@dray/api/codec";

/**
 * Maximum number of levels of an object. Go's limit for JSON is 10000, which may overflow the stack: a stored
 * object must be encodable in every form.
 */
const maxDepth = 1000;

/** Throws 400 for a tree with too many levels. */
export function checkNesting(tree: unknown): void {
  let level = [tree];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) throw StatusError.of("BadRequest", "exceeded max depth");
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== "object" || value === null) continue;
      for (const key in value) {
        const below = (value as Record<string, unknown>)[key];
        if (typeof below === "object") next.push(below);
      }
    }
    level = next;
  }
}

/**
 * Returns `duplicate field "spec.a"` for every repeated key in the text of the tree, of which the notes are.
 * Throws 400 like `checkNesting`.
 */
export function duplicateFields(tree: unknown, notes: TextNotes | undefined): string[] {
  checkNesting(tree);
  const found: string[] = [];
  if (notes?.hasRepeatedKeys === true) collect(tree, "", notes, found);
  return found;
}

function collect(tree: unknown, path: string, notes: TextNotes, found: string[]): void {
  if (typeof tree !== "object" || tree === null) return;
  if (Array.isArray(tree)) {
    tree.forEach((item, index) => {
      if (typeof item === "object") collect(item, `${path}[${index}]`, notes, found);
    });
    return;
  }
  const at = (key: string): string => (path === "" ? key : `${path}.${key}`);
  for (const key of notes.duplicateKeys(tree)) found.push(`duplicate field ${quoted(at(key))}`);
  for (const key in tree) {
    const value = (tree as Record<string, unknown>)[key];
    if (typeof value === "object") collect(value, at(key), notes, found);
  }
}
