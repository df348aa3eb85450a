import { isOfPackage } from "./beside.ts";
import { type Finding, isNode, type Node, type Source, walk } from "./source.ts";

const camelCase = /(?<![\w.$"'`/])[a-z][a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+(?![\w("'`/]|\.\w)/g;

/**
 * A text for users has no name of a function that its file declares or imports: a rename that went through
 * texts too leaves "non-isSidecar init containers". A name in quotation marks, with `()` or with a path is
 * meant.
 */
export function texts(sources: readonly Source[]): Finding[] {
  return sources
    .filter(({ isTest, path }) => !isTest && isOfPackage(path))
    .flatMap((source) => {
      const functions = functionsOf(source);
      return textsOf(source).flatMap(({ text, start }) =>
        [...text.matchAll(camelCase)]
          .filter(([name]) => functions.has(name))
          .map(([name]) => ({
            path: source.path,
            line: source.lineAt(start),
            text: `a text for users has the name of a function of ours, \`${name}\``,
          })),
      );
    });
}

/** Names of functions that a file declares, and of values that it imports. */
function functionsOf({ program }: Source): Set<string> {
  const names = new Set<string>();
  const add = (name: unknown): void => {
    if (isNode(name) && name.type === "Identifier") names.add(String(name["name"]));
  };
  walk(program, (node) => {
    if (node.type === "FunctionDeclaration") add(node["id"]);
    if (node.type === "MethodDefinition") add(node["key"]);
    if (node.type === "VariableDeclarator" && isFunction(node["init"])) add(node["id"]);
    if (node.type === "ImportSpecifier" && node["importKind"] !== "type") add(node["local"]);
  });
  return names;
}

const isFunction = (node: unknown): boolean =>
  isNode(node) && (node.type === "ArrowFunctionExpression" || node.type === "FunctionExpression");

/** Literals and parts of templates that have several words. */
function textsOf({ program }: Source): { readonly text: string; readonly start: number }[] {
  const found: { readonly text: string; readonly start: number }[] = [];
  walk(program, (node) => {
    const { type, value, start } = node;
    if (type === "Literal" && typeof value === "string" && value.includes(" "))
      found.push({ text: value, start });
    if (type !== "TemplateLiteral") return;
    const parts = (node["quasis"] as Node[]).map((part) => ({
      text: String((part["value"] as { cooked?: string }).cooked ?? ""),
      start: part.start,
    }));
    if (parts.some(({ text }) => text.includes(" "))) found.push(...parts);
  });
  return found;
}
