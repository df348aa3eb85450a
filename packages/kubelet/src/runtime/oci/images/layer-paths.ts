/** Attributes of a folder that are set at the end of a layer. */
export interface FolderAttributes {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Seconds since the epoch. */
  readonly mtime: number;
}

interface PathNode {
  children?: Map<string, PathNode>;
  folder?: FolderAttributes;
}

/**
 * The paths that a layer has made, as a tree: removing a path takes all below it at once. A layer may have
 * millions of paths and remove each of them.
 */
export class LayerPaths {
  readonly #root: PathNode = {};

  has(path: readonly string[]): boolean {
    return this.#find(path) !== undefined;
  }

  /** Adds a path with its ancestors; `folder` if it is a folder. */
  add(path: readonly string[], folder?: FolderAttributes): void {
    let node = this.#root;
    for (const name of path) {
      node.children ??= new Map();
      const next = node.children.get(name) ?? {};
      node.children.set(name, next);
      node = next;
    }
    if (folder === undefined) delete node.folder;
    else node.folder = folder;
  }

  remove(path: readonly string[]): void {
    this.#find(path.slice(0, -1))?.children?.delete(path.at(-1) ?? "");
  }

  /** All folders, those below a folder before it. */
  *folders(): Generator<[path: readonly string[], FolderAttributes]> {
    yield* foldersBelow(this.#root, []);
  }

  #find(path: readonly string[]): PathNode | undefined {
    let node: PathNode | undefined = this.#root;
    for (const name of path) node = node?.children?.get(name);
    return node;
  }
}

function* foldersBelow(
  node: PathNode,
  path: readonly string[],
): Generator<[path: readonly string[], FolderAttributes]> {
  for (const [name, child] of node.children ?? []) yield* foldersBelow(child, [...path, name]);
  if (node.folder !== undefined) yield [path, node.folder];
}
