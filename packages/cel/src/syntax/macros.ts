import { accumulatorName, type Call, type Comprehension, type Expr } from "./ast.ts";
import type { Problem } from "./source.ts";

/** A call of a macro, by whose name and number of arguments it was found. */
type MemberCall = Call & { readonly target: Expr };

/** Expands the call of a macro. Undefined: the call is not one of the macro. */
type Expander = (call: MemberCall, problems: Problem[]) => Expr | undefined;

/** The variable for the list of `sortBy`. */
const sortInput = "@__sortBy_input__";

const memberMacros: ReadonlyMap<string, Expander> = new Map<string, Expander>([
  ["all/2", (call, problems) => quantifier(call, problems, "all")],
  ["exists/2", (call, problems) => quantifier(call, problems, "exists")],
  ["exists_one/2", (call, problems) => existsOne(call, problems)],
  ["all/3", (call, problems) => quantifier(call, problems, "all")],
  ["exists/3", (call, problems) => quantifier(call, problems, "exists")],
  ["exists_one/3", (call, problems) => existsOne(call, problems)],
  ["existsOne/3", (call, problems) => existsOne(call, problems)],
  ["map/2", (call, problems) => map(call, problems)],
  ["map/3", (call, problems) => map(call, problems)],
  ["filter/2", (call, problems) => filter(call, problems)],
  ["transformList/3", (call, problems) => transform(call, problems, "list")],
  ["transformList/4", (call, problems) => transform(call, problems, "list")],
  ["transformMap/3", (call, problems) => transform(call, problems, "map")],
  ["transformMap/4", (call, problems) => transform(call, problems, "map")],
  ["transformMapEntry/3", (call, problems) => transform(call, problems, "entry")],
  ["transformMapEntry/4", (call, problems) => transform(call, problems, "entry")],
  ["optMap/2", (call, problems) => optionalMap(call, problems, "optMap")],
  ["optFlatMap/2", (call, problems) => optionalMap(call, problems, "optFlatMap")],
  ["bind/3", (call, problems) => bind(call, problems)],
  ["sortBy/2", (call, problems) => sortBy(call, problems)],
]);

/** Macros whose expansion contains their target twice. */
export const copiesTarget: ReadonlySet<string> = new Set(["optMap", "optFlatMap"]);

/** The parts of the syntax that not every environment of Kubernetes has. */
export interface Features {
  /** The macro `cel.bind`. */
  readonly bindings: boolean;
  /** Names of fields in backticks. */
  readonly escapedNames: boolean;
}

/** Expands a call of a macro; returns undefined for any other call. */
export function expandMacro(call: Call, problems: Problem[], { bindings }: Features): Expr | undefined {
  if (call.name === "bind" && !bindings) return undefined;
  const { target } = call;
  if (target === undefined)
    return call.name === "has" && call.args.length === 1 ? has(call, problems) : undefined;
  return memberMacros.get(`${call.name}/${call.args.length}`)?.({ ...call, target }, problems);
}

function has(call: Call, problems: Problem[]): Expr {
  const arg = call.args[0]!;
  if (arg.kind === "select") {
    return { kind: "select", offset: call.offset, operand: arg.operand, field: arg.field, testOnly: true };
  }
  return fail(problems, arg, "invalid argument to has() macro");
}

/** Reports a problem. Parsing continues with a null literal, so that later problems are found, too. */
function fail(problems: Problem[], expr: Expr, message: string): Expr {
  problems.push({ offset: expr.offset, message });
  return { kind: "literal", offset: expr.offset, value: null };
}

const identifier = (offset: number, name: string): Expr => ({ kind: "identifier", offset, name });
const literal = (offset: number, value: boolean | bigint): Expr => ({ kind: "literal", offset, value });
const apply = (offset: number, name: string, ...args: Expr[]): Expr => ({
  kind: "call",
  offset,
  name,
  target: undefined,
  args,
});
const method = (offset: number, target: Expr, name: string, ...args: Expr[]): Expr => ({
  kind: "call",
  offset,
  name,
  target,
  args,
});
const list = (offset: number, ...elements: Expr[]): Expr => ({
  kind: "list",
  offset,
  elements,
  optional: new Set(),
});

interface Loop {
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

function comprehension(call: MemberCall, names: readonly string[], loop: Loop): Comprehension {
  return {
    kind: "comprehension",
    offset: call.offset,
    range: call.target,
    variable: names[0]!,
    variable2: names[1],
    accumulator: accumulatorName,
    ...loop,
  };
}

/** The last argument of a macro, which has one. */
const lastOf = ({ args }: MemberCall): Expr => args.at(-1)!;

/**
 * The names of the iteration variables, which are the first arguments of a macro; a literal if they are
 * invalid.
 */
function variables(
  call: Call,
  count: number,
  problems: Problem[],
  message = "argument must be a simple name",
): string[] | Expr {
  const names: string[] = [];
  const args = call.args.slice(0, count);
  for (const arg of args) {
    if (arg.kind !== "identifier") return fail(problems, arg, message);
    if (names.includes(arg.name)) return fail(problems, arg, `duplicate variable name: ${arg.name}`);
    names.push(arg.name);
  }
  const reserved = args[names.indexOf(legacyAccumulatorName)];
  if (reserved !== undefined)
    return fail(problems, reserved, "iteration variable overwrites accumulator variable");
  return names;
}

/** The accumulator of earlier versions of cel-go, which still rejects it as a name. */
const legacyAccumulatorName = "__result__";

function quantifier(call: MemberCall, problems: Problem[], kind: "all" | "exists"): Expr {
  const names = variables(call, call.args.length - 1, problems);
  if (!Array.isArray(names)) return names;
  const offset = call.offset;
  const predicate = lastOf(call);
  const accumulator = (): Expr => identifier(offset, accumulatorName);
  const undecided = kind === "all" ? accumulator() : apply(offset, "!_", accumulator());
  return comprehension(call, names, {
    init: literal(offset, kind === "all"),
    condition: apply(offset, "@not_strictly_false", undecided),
    step: apply(offset, kind === "all" ? "_&&_" : "_||_", accumulator(), predicate),
    result: accumulator(),
  });
}

function existsOne(call: MemberCall, problems: Problem[]): Expr {
  const names = variables(call, call.args.length - 1, problems);
  if (!Array.isArray(names)) return names;
  const offset = call.offset;
  const accumulator = (): Expr => identifier(offset, accumulatorName);
  const more = apply(offset, "_+_", accumulator(), literal(offset, 1n));
  return comprehension(call, names, {
    init: literal(offset, 0n),
    condition: literal(offset, true),
    step: apply(offset, "_?_:_", lastOf(call), more, accumulator()),
    result: apply(offset, "_==_", accumulator(), literal(offset, 1n)),
  });
}

function map(call: MemberCall, problems: Problem[]): Expr {
  const names = variables(call, 1, problems, "argument is not an identifier");
  if (!Array.isArray(names)) return names;
  return collect(call, names, call.args.length === 3 ? call.args[1] : undefined, lastOf(call));
}

function filter(call: MemberCall, problems: Problem[]): Expr {
  const names = variables(call, 1, problems, "argument is not an identifier");
  if (!Array.isArray(names)) return names;
  return collect(call, names, call.args[1], call.args[0]!);
}

function collect(
  call: MemberCall,
  names: readonly string[],
  condition: Expr | undefined,
  element: Expr,
): Expr {
  const offset = call.offset;
  const add = apply(offset, "_+_", identifier(offset, accumulatorName), list(offset, element));
  return comprehension(call, names, {
    init: list(offset),
    condition: literal(offset, true),
    step:
      condition === undefined
        ? add
        : apply(offset, "_?_:_", condition, add, identifier(offset, accumulatorName)),
    result: identifier(offset, accumulatorName),
  });
}

function transform(call: MemberCall, problems: Problem[], into: "list" | "map" | "entry"): Expr {
  const names = variables(call, 2, problems);
  if (!Array.isArray(names)) return names;
  const offset = call.offset;
  const condition = call.args.length === 4 ? call.args[2] : undefined;
  const value = lastOf(call);
  if (into === "list") return collect(call, names, condition, value);
  const accumulator = (): Expr => identifier(offset, accumulatorName);
  const insert =
    into === "map"
      ? apply(offset, "cel.@mapInsert", accumulator(), identifier(offset, names[0]!), value)
      : apply(offset, "cel.@mapInsert", accumulator(), value);
  return comprehension(call, names, {
    init: { kind: "map", offset, entries: [] },
    condition: literal(offset, true),
    step: condition === undefined ? insert : apply(offset, "_?_:_", condition, insert, accumulator()),
    result: accumulator(),
  });
}

/** Binds a name to a value, as a loop over an empty list. The value is evaluated at its first use. */
function binding(offset: number, name: string, value: Expr, result: Expr): Expr {
  return {
    kind: "comprehension",
    offset,
    range: list(offset),
    variable: "#unused",
    variable2: undefined,
    accumulator: name,
    init: value,
    condition: literal(offset, false),
    step: identifier(offset, name),
    result,
  };
}

function bind(call: MemberCall, problems: Problem[]): Expr | undefined {
  if (call.target.kind !== "identifier" || call.target.name !== "cel") return undefined;
  const name = call.args[0]!;
  if (name.kind !== "identifier") {
    return fail(problems, name, "cel.bind() variable names must be simple identifiers");
  }
  return binding(call.offset, name.name, call.args[1]!, call.args[2]!);
}

function optionalMap(call: MemberCall, problems: Problem[], kind: "optMap" | "optFlatMap"): Expr {
  const offset = call.offset;
  const name = call.args[0]!;
  if (name.kind !== "identifier") {
    return fail(problems, name, `${kind}() variable name must be a simple identifier`);
  }
  const target = call.target;
  const mapped = binding(offset, name.name, method(offset, target, "value"), call.args[1]!);
  return apply(
    offset,
    "_?_:_",
    method(offset, target, "hasValue"),
    kind === "optMap" ? apply(offset, "optional.of", mapped) : mapped,
    apply(offset, "optional.none"),
  );
}

function sortBy(call: MemberCall, problems: Problem[]): Expr | undefined {
  const target = call.target;
  if (unsortable.has(target.kind)) {
    return fail(
      problems,
      target,
      "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
    );
  }
  const names = variables(call, 1, problems, "argument is not an identifier");
  if (!Array.isArray(names)) return names;
  const offset = call.offset;
  const input = (): Expr => identifier(offset, sortInput);
  const keys = collect({ ...call, target: input() }, names, undefined, call.args[1]!);
  return binding(offset, sortInput, target, method(offset, input(), "@sortByAssociatedKeys", keys));
}

const unsortable: ReadonlySet<Expr["kind"]> = new Set(["literal", "map", "struct"]);
