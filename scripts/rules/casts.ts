import { type Finding, isNode, type Node, type Source } from "./source.ts";

/**
 * `as unknown as` says that the compiler is wrong: a comment beside it says why. Beside are the line of the
 * cast, the statement or property from its start, and the line before that.
 */
export function casts(sources: readonly Source[]): Finding[] {
  return sources
    .filter(({ isTest, text, path }) => !isTest && isOfPackage.test(path) && text.includes("as unknown as"))
    .flatMap((source) => {
      const commented = new Set(source.comments.map(({ end }) => source.lineAt(end)));
      return castsOf(source.program).flatMap(({ cast, owner }): Finding[] => {
        const line = source.lineAt(cast.end);
        for (let at = source.lineAt(owner.start) - 1; at <= line; at++) if (commented.has(at)) return [];
        return [{ path: source.path, line, text: "`as unknown as` without a comment that says why" }];
      });
    });
}

const isOfPackage = /^(packages|drivers)\//;

const owners = /Statement$|Declaration$|^Property$|^PropertyDefinition$/;

interface Cast {
  readonly cast: Node;
  /** The innermost statement or property that holds it. */
  readonly owner: Node;
}

function castsOf(node: unknown, owner?: Node): Cast[] {
  if (Array.isArray(node)) return node.flatMap((item) => castsOf(item, owner));
  if (!isNode(node)) return [];
  const next = owner === undefined || owners.test(node.type) ? node : owner;
  const below = Object.values(node).flatMap((value) => castsOf(value, next));
  return isCastOfUnknown(node) ? [...below, { cast: node["expression"] as Node, owner: next }] : below;
}

function isCastOfUnknown({ type, expression }: Node): boolean {
  if (type !== "TSAsExpression" || !isNode(expression) || expression.type !== "TSAsExpression") return false;
  return (expression["typeAnnotation"] as Node).type === "TSUnknownKeyword";
}
