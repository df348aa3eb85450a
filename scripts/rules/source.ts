import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type Comment, type EcmaScriptModule, type Program, parseSync } from "oxc-parser";

/** A hand-written or generated file of TypeScript or JavaScript. It is parsed when first asked for. */
export interface Source {
  /** Relative to the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly isTest: boolean;
  readonly isGenerated: boolean;
  /** Imports and exports. */
  readonly module: EcmaScriptModule;
  readonly comments: readonly Comment[];
  readonly program: Program;
  /** Number of the line of an offset, from 1. */
  lineAt(offset: number): number;
}

/** A place that breaks a rule. */
export interface Finding {
  readonly path: string;
  /** Absent for a finding about a whole file. */
  readonly line?: number;
  readonly text: string;
}

/** Folders of the repository that hold no sources of ours. */
const foreign = new Set(["node_modules", "dist", "build", "testdata"]);

/** All sources below a folder. */
export function readSources(root: string): Source[] {
  const files = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      if (entry.name.startsWith(".") || foreign.has(entry.name)) return [];
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return files(path);
      return entry.isFile() && /(?<!\.d)\.[cm]?[jt]s$/.test(entry.name) ? [path] : [];
    });
  return files(root).map((file) =>
    createSource(relative(root, file).replaceAll("\\", "/"), readFileSync(file, "utf8")),
  );
}

export function createSource(path: string, text: string): Source {
  let result: ReturnType<typeof parseSync> | undefined;
  const parsed = (): ReturnType<typeof parseSync> => {
    result ??= parseSync(path, text);
    if (result.errors.length > 0) throw new Error(`${path}: ${result.errors[0]!.message}`);
    return result;
  };
  let starts: number[] | undefined;
  return {
    path,
    text,
    isTest: /\.test\.ts$|\/conformance\.ts$|\/(testing|test)(\/|\.ts$)|\/test-[\w-]+\.ts$/.test(path),
    isGenerated: path.includes("/generated/"),
    get module() {
      return parsed().module;
    },
    get comments() {
      return parsed().comments;
    },
    get program() {
      return parsed().program;
    },
    lineAt(offset) {
      starts ??= lineStarts(text);
      return starts.findLastIndex((start) => start <= offset) + 1;
    },
  };
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** Modules that a file imports with `import("...")`, in code or as a type. */
export function dynamicImports(source: Source): { readonly value: string; readonly start: number }[] {
  const found: { readonly value: string; readonly start: number }[] = [];
  if (!source.text.includes('import("')) return found;
  walk(source.program, ({ type, source: module }) => {
    if (type !== "ImportExpression" && type !== "TSImportType") return;
    const { value, start } = module as Node;
    if (typeof value === "string") found.push({ value, start });
  });
  return found;
}

/** A node of the syntax tree (ESTree): fields other than these depend on its type. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** Calls `visit` for a node and all nodes below it. */
export function walk(node: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(node)) {
    for (const item of node) walk(item, visit);
    return;
  }
  if (!isNode(node)) return;
  visit(node);
  for (const field in node) {
    const value = node[field];
    if (typeof value === "object" && value !== null) walk(value, visit);
  }
}

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
