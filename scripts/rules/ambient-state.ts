import { type Finding, type Node, type Source, walk } from "./source.ts";

/** Members of globals that read the clock or are random. */
const members: Readonly<Record<string, readonly string[]>> = {
  Date: ["now"],
  performance: ["now"],
  process: ["hrtime"],
  Math: ["random"],
  AbortSignal: ["timeout"],
  crypto: ["randomUUID", "getRandomValues"],
};

/** Exports of modules that read the clock, wait or are random. */
const imported: Readonly<Record<string, readonly string[]>> = {
  "node:crypto": ["randomUUID", "randomBytes", "randomInt", "randomFillSync"],
  "node:timers": ["setTimeout", "setInterval"],
  "node:timers/promises": ["setTimeout", "setInterval", "scheduler"],
  "@dray/client": ["systemClock"],
};

const globals: ReadonlySet<string> = new Set(["setTimeout", "setInterval"]);

/** Most files have none of these, and need no syntax tree. */
const mentioned =
  /\b(?:Date|performance|hrtime|random\w*|systemClock|getRandomValues|AbortSignal|set(?:Timeout|Interval))\b/;

/**
 * Clock, randomness and ids are arguments: a function that reads them itself cannot be tested with a fake
 * clock, nor run twice with the same result. Processes are put together in a few files, which are allowed to
 * name the real ones.
 */
export function ambientState(sources: readonly Source[]): Finding[] {
  const findings: Finding[] = [];
  for (const source of sources) {
    if (!/^(packages|drivers)\/[\w-]+\/src\//.test(source.path) || source.isTest || source.isGenerated)
      continue;
    if (!mentioned.test(source.text)) continue;
    const find = (name: string, offset: number): void => {
      findings.push({
        path: source.path,
        line: source.lineAt(offset),
        text: `${name}: take the clock, the random function or the id as an argument`,
      });
    };
    const ownNames = new Set<string>();
    for (const { moduleRequest, entries } of source.module.staticImports) {
      for (const { importName, localName } of entries) {
        ownNames.add(localName.value);
        if (imported[moduleRequest.value]?.includes(importName.name ?? ""))
          find(`${importName.name} of ${moduleRequest.value}`, localName.start);
      }
    }
    walk(source.program, (node) => {
      const name = ambientName(node);
      if (name !== undefined && !ownNames.has(name)) find(name, node.start);
    });
  }
  return findings;
}

function ambientName(node: Node): string | undefined {
  if (node.type === "MemberExpression") {
    const [object, property] = [nameOf(node["object"]), nameOf(node["property"])];
    if (object !== undefined && property !== undefined && members[object]?.includes(property))
      return `${object}.${property}`;
  } else if (node.type === "NewExpression" || node.type === "CallExpression") {
    const callee = nameOf(node["callee"]);
    if (callee === "Date" && (node["arguments"] as unknown[]).length === 0)
      return node.type === "NewExpression" ? "new Date()" : "Date()";
    if (callee !== undefined && globals.has(callee)) return callee;
  }
  return undefined;
}

function nameOf(node: unknown): string | undefined {
  const { type, name } = node as Node;
  return type === "Identifier" ? (name as string) : undefined;
}
