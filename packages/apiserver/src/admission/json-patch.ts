import { quoted } from "@dray/api";
import { JsonPatch } from "../patch/index.ts";
import type { Pause } from "../request/large-work.ts";

export type Tree = { readonly [key: string]: unknown };

/** An operation that does not apply, in the words of upstream's library (gopkg.in/evanphx/json-patch.v4). */
export class OperationError extends Error {
  override readonly name = "OperationError";
  /** Whether the operation is a failed `test`. */
  readonly isFailedTest: boolean;

  constructor(message: string, isFailedTest: boolean) {
    super(message);
    this.isFailedTest = isFailedTest;
  }
}

/** Applies a JSON patch: the error names the operation that fails. Throws OperationError. */
export function applyOperations(object: Tree, operations: readonly Tree[]): Tree {
  const patching = new Patching(object, operations);
  while (patching.applyNext());
  return patching.result();
}

/** Applies a JSON patch like `applyOperations`, with a pause wherever one is due. */
export async function applyInPieces(object: Tree, operations: readonly Tree[], pause: Pause): Promise<Tree> {
  const patching = new Patching(object, operations);
  while (patching.applyNext()) if (pause?.isDue()) await pause();
  return patching.result();
}

/** A JSON patch without a limit of operations: upstream limits those of clients only. */
class Patching {
  readonly #object: Tree;
  readonly #operations: readonly Tree[];
  #patch: JsonPatch | undefined;

  constructor(object: Tree, operations: readonly Tree[]) {
    this.#object = object;
    this.#operations = operations;
  }

  /** Applies the next operation; returns false if none is left. Throws OperationError. */
  applyNext(): boolean {
    return this.#run((patch) => patch.applyNext());
  }

  /** Returns the new object. Throws OperationError. */
  result(): Tree {
    return this.#run((patch) => patch.result());
  }

  #run<T>(run: (patch: JsonPatch) => T): T {
    try {
      this.#patch ??= new JsonPatch(this.#object, this.#operations, Number.POSITIVE_INFINITY);
      return run(this.#patch);
    } catch {
      throw this.#error();
    }
  }

  #error(): OperationError {
    const failed = Math.min(this.#patch?.applied ?? 0, this.#operations.length - 1);
    // The failed operation may have changed a part of the draft.
    const before = new JsonPatch(this.#object, this.#operations.slice(0, failed), Number.POSITIVE_INFINITY);
    while (before.applyNext());
    // Without operations nothing fails.
    const message = problemOf(before.result(), this.#operations[failed]!);
    return new OperationError(message, message.endsWith(": test failed"));
  }
}

const missing = "missing value";

function problemOf(tree: Tree, { op, path, from }: Tree): string {
  const text = String(path ?? "");
  const where = new Place(tree, text);
  const absent = `${op} operation does not apply: doc is missing path:`;
  switch (op) {
    case "add":
      if (where.parent === undefined) return `${absent} "${text}": ${missing}`;
      return `error in add for path: '${text}': ${where.indexProblem("add")}`;
    case "remove":
      if (where.parent === undefined) return `${absent} "${text}": ${missing}`;
      return `error in remove for path: '${text}': ${where.removalProblem}`;
    case "replace":
      if (where.parent === undefined) return `${absent} ${text}: ${missing}`;
      return `replace operation does not apply: doc is missing key: ${text}: ${missing}`;
    case "test":
      if (text !== "" && where.parent === undefined)
        return `test operation does not apply: is missing path: ${text}: ${missing}`;
      return where.isIndexWrong
        ? `error in test for path: '${text}': ${where.indexProblem("get")}`
        : `testing value ${text} failed: test failed`;
    case "move":
    case "copy":
      return transferProblem(tree, op, from, text);
    default:
      return `Unexpected kind: ${String(op ?? "unknown")}`;
  }
}

function transferProblem(tree: Tree, op: "move" | "copy", from: unknown, to: string): string {
  if (from === undefined || from === null)
    return `${op} operation failed to decode from: operation, missing from field: ${missing}`;
  const source = new Place(tree, String(from));
  if (source.parent === undefined)
    return `${op} operation does not apply: doc is missing from path: ${String(from)}: ${missing}`;
  const at = op === "move" ? `move for path: '${source.key}'` : `copy for from: '${String(from)}'`;
  if (source.isIndexWrong) return `error in ${at}: ${source.indexProblem("get")}`;
  if (op === "move" && !source.exists) return `error in ${at}: ${source.removalProblem}`;
  return new Place(tree, to).parent === undefined
    ? `${op} operation does not apply: doc is missing destination path: ${to}: ${missing}`
    : `error in ${op} for path: '${to}': ${new Place(tree, to).indexProblem("add")}`;
}

/** The target of a JSON pointer. */
class Place {
  /** The object or list that holds the end of the path. */
  readonly parent: object | undefined;
  readonly key: string;

  constructor(tree: Tree, path: string) {
    const segments = path.split("/").slice(1);
    this.key = unescaped(segments.at(-1) ?? "");
    this.parent = segments.length === 0 ? undefined : containerAt(tree, segments.slice(0, -1));
  }

  get exists(): boolean {
    return this.parent !== undefined && Object.hasOwn(this.parent, this.key);
  }

  get isIndexWrong(): boolean {
    return Array.isArray(this.parent) && !this.exists;
  }

  get removalProblem(): string {
    if (Array.isArray(this.parent)) return this.indexProblem("get");
    return `Unable to remove nonexistent key: ${this.key}: ${missing}`;
  }

  indexProblem(use: "add" | "get"): string {
    if (/^[+-]?\d+$/.test(this.key))
      return `Unable to access invalid index: ${Number(this.key)}: invalid index referenced`;
    const parsing = `strconv.Atoi: parsing ${quoted(this.key)}: invalid syntax`;
    return use === "add" ? `value was not a proper array index: '${this.key}': ${parsing}` : parsing;
  }
}

const unescaped = (segment: string): string => segment.replaceAll("~1", "/").replaceAll("~0", "~");

function containerAt(tree: unknown, path: readonly string[]): object | undefined {
  let value = tree;
  for (const segment of path) {
    const key = unescaped(segment);
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Tree)[key];
  }
  return typeof value === "object" && value !== null ? value : undefined;
}
