import { commentBeside, isOfPackage, ownedNodes } from "./beside.ts";
import { type Finding, isNode, type Node, type Source } from "./source.ts";

const parsers: ReadonlySet<string> = new Set(["JSON.parse", "decodeJSON"]);

/**
 * Parsed JSON may have null in every field: Go writes it for each nil slice, map and pointer, and defaults of
 * destructuring do not replace it. So its type is `unknown` or `Wire<...>`, with which the compiler finds
 * such reads; another type has a comment beside it that says who writes the text.
 */
export function parsedJson(sources: readonly Source[]): Finding[] {
  return sources
    .filter(
      ({ isTest, text, path }) => !isTest && isOfPackage(path) && /\b(JSON\.parse|decodeJSON)\(/.test(text),
    )
    .flatMap((source) => {
      const isCommented = commentBeside(source);
      return ownedNodes(source.program, (node) => isNarrowing(node, source.text))
        .filter((cast) => !isCommented(cast))
        .map(({ node }) => ({
          path: source.path,
          line: source.lineAt(node.end),
          text: "parsed JSON with a type without null: cast it to Wire<...> or unknown, or say beside it who writes it",
        }));
    });
}

/** A cast of a call of a parser to a type whose fields are known. */
function isNarrowing({ type, expression, typeAnnotation }: Node, text: string): boolean {
  if (type !== "TSAsExpression" || !isNode(expression) || !isNode(typeAnnotation)) return false;
  return isParsed(expression, text) && !isOpen(typeAnnotation, text);
}

/** A call of a parser, also within `?? {}`, parentheses and `await`. */
function isParsed(node: Node, text: string): boolean {
  switch (node.type) {
    case "CallExpression": {
      const callee = node["callee"] as Node;
      return parsers.has(text.slice(callee.start, callee.end));
    }
    case "ParenthesizedExpression":
      return isParsed(node["expression"] as Node, text);
    case "LogicalExpression":
      return isParsed(node["left"] as Node, text);
    default:
      return false;
  }
}

/** Types that say nothing about the fields, or that they may be null. */
function isOpen(annotation: Node, text: string): boolean {
  if (annotation.type === "TSUnknownKeyword" || annotation.type === "TSStringKeyword") return true;
  const shown = text.slice(annotation.start, annotation.end);
  return (
    /^(Wire<|Record<string, unknown>$|Plain$|JSONValue$|JsonObject$)/.test(shown) ||
    hasOnlyUnknown(annotation)
  );
}

/** `{ readonly a?: unknown }` */
function hasOnlyUnknown({ type, members }: Node): boolean {
  if (type !== "TSTypeLiteral") return false;
  return (members as readonly Node[]).every((member) => {
    const annotation = member["typeAnnotation"];
    const inner = isNode(annotation) ? annotation["typeAnnotation"] : undefined;
    return isNode(inner) && inner.type === "TSUnknownKeyword";
  });
}
