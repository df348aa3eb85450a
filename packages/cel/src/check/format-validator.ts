import { accepted, type Clause, FormatError, formatClauses, wrongType } from "../library/format/clauses.ts";
import { type Call, type Expr, walk } from "../syntax/ast.ts";
import type { Problem } from "../syntax/source.ts";
import { type CelType, errorType } from "../values/types.ts";

/** What is wrong with calls of `format` whose format and list of arguments are written out, before anything runs. */
export function checkFormats(expr: Expr): Problem[] {
  const problems: Problem[] = [];
  for (const node of walk(expr)) {
    const problem = node.kind === "call" && node.name === "format" ? checkCall(node) : undefined;
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

function checkCall({ target, args: [list], at }: Call): Problem | undefined {
  if (target?.kind !== "literal" || typeof target.value !== "string" || list?.kind !== "list")
    return undefined;
  const args = list.elements;
  const result = formatClauses(
    target.value,
    args.length,
    (clause, i) => refused(clause, args[i]!) ?? "",
    true,
  );
  if (result instanceof FormatError) return { at: result.offset ?? at, message: result.message };
  if (args.length <= result.used) return undefined;
  const counts = `expected ${result.used}, got ${args.length}`;
  return { at, message: `too many arguments supplied to string.format (${counts})` };
}

const typeOf = (expr: Expr): CelType => expr.type ?? errorType;

function refused({ verb }: Clause, arg: Expr): FormatError | undefined {
  const wrong = verb === "s" ? unprintable(arg) : fits(arg, accepted[verb].types) ? undefined : arg;
  return wrong && wrongType(verb, typeOf(wrong).name, wrong.at);
}

/** Texts may stand for doubles: `"NaN"`. */
const fits = (arg: Expr, types: readonly string[]): boolean => {
  const { kind, name } = typeOf(arg);
  return kind === "dyn" || types.includes(name) || (types[0] === "double" && name === "string");
};

/** The expression itself or the part of it, where it is a literal, that `%s` cannot write. */
function unprintable(arg: Expr): Expr | undefined {
  if (!fits(arg, accepted.s.types)) return arg;
  const parts =
    arg.kind === "list"
      ? arg.elements
      : arg.kind === "map"
        ? arg.entries.flatMap((entry) => [entry.key, entry.value])
        : [];
  for (const part of parts) {
    const wrong = unprintable(part);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}
