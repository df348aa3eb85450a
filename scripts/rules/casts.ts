import { commentBeside, isOfPackage, ownedNodes } from "./beside.ts";
import { type Finding, isNode, type Node, type Source } from "./source.ts";

/** `as unknown as` says that the compiler is wrong: a comment beside it says why. */
export function casts(sources: readonly Source[]): Finding[] {
  return sources
    .filter(({ isTest, text, path }) => !isTest && isOfPackage(path) && text.includes("as unknown as"))
    .flatMap((source) => {
      const isCommented = commentBeside(source);
      return ownedNodes(source.program, isCastOfUnknown)
        .map(({ node, owner }) => ({ node: node["expression"] as Node, owner }))
        .filter((cast) => !isCommented(cast))
        .map(({ node }) => ({
          path: source.path,
          line: source.lineAt(node.end),
          text: "`as unknown as` without a comment that says why",
        }));
    });
}

function isCastOfUnknown({ type, expression }: Node): boolean {
  if (type !== "TSAsExpression" || !isNode(expression) || expression.type !== "TSAsExpression") return false;
  return (expression["typeAnnotation"] as Node).type === "TSUnknownKeyword";
}
