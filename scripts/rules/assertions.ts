import { commentBeside, isOfPackage, ownedNodes } from "./beside.ts";
import { type Finding, isNode, type Node, type Source } from "./source.ts";

/**
 * `value!` says that a type is too wide: a comment beside it says why the value is there. `list[i]!` needs
 * no reason: the compiler does not know the bounds of any list.
 */
export function assertions(sources: readonly Source[]): Finding[] {
  return sources
    .filter(({ isTest, text, path }) => !isTest && isOfPackage(path) && text.includes("!"))
    .flatMap((source) => {
      const isCommented = commentBeside(source);
      return ownedNodes(source.program, isAssertion)
        .filter((owned) => !isCommented(owned))
        .map(({ node }) => ({
          path: source.path,
          line: source.lineAt(node.end),
          text: "`!` without a comment that says why the value is there",
        }));
    });
}

function isAssertion({ type, expression }: Node): boolean {
  return type === "TSNonNullExpression" && isNode(expression) && !isElementAccess(expression);
}

const isElementAccess = ({ type, computed }: Node): boolean =>
  type === "MemberExpression" && computed === true;
