import { isNode, type Node, type Source } from "./source.ts";

export const isOfPackage = (path: string): boolean => /^(packages|drivers)\//.test(path);

/** A node with the innermost statement or property that holds it. */
export interface Owned {
  readonly node: Node;
  readonly owner: Node;
}

const owners = /Statement$|Declaration$|^Property$|^PropertyDefinition$/;

/** Returns the nodes of a tree that `isWanted`. */
export function ownedNodes(tree: unknown, isWanted: (node: Node) => boolean, owner?: Node): Owned[] {
  if (Array.isArray(tree)) return tree.flatMap((item) => ownedNodes(item, isWanted, owner));
  if (!isNode(tree)) return [];
  const next = owner === undefined || owners.test(tree.type) ? tree : owner;
  const below = Object.values(tree).flatMap((value) => ownedNodes(value, isWanted, next));
  return isWanted(tree) ? [...below, { node: tree, owner: next }] : below;
}

/**
 * Returns whether a comment is beside a node: on the line of its end, in the statement or property from its
 * start, or on the line before that.
 */
export function commentBeside(source: Source): (owned: Owned) => boolean {
  const commented = new Set(source.comments.map(({ end }) => source.lineAt(end)));
  return ({ node, owner }) => {
    const line = source.lineAt(node.end);
    for (let at = source.lineAt(owner.start) - 1; at <= line; at++) if (commented.has(at)) return true;
    return false;
  };
}
