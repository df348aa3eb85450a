import { type Finding, type Source, walk } from "./source.ts";

/** Maximum number of lines. */
const maxFile = 400;
const maxFunction = 100;

const functions: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
]);

/** A file and a function that are longer hold more than one idea. */
export function lengths(sources: readonly Source[]): Finding[] {
  const findings: Finding[] = [];
  for (const source of sources) {
    if (source.isGenerated) continue;
    const { path } = source;
    const lines = source.lineAt(source.text.length - 1);
    if (lines > maxFile) findings.push({ path, text: `has ${lines} lines: more than ${maxFile}` });
    if (lines <= maxFunction) continue;
    walk(source.program, ({ type, start, end }) => {
      if (!functions.has(type)) return;
      const [first, last] = [source.lineAt(start), source.lineAt(end)];
      const length = last - first + 1;
      if (length > maxFunction)
        findings.push({ path, line: first, text: `a function of ${length} lines: more than ${maxFunction}` });
    });
  }
  return findings;
}
