import { textLength } from "../../values/text.ts";
import { CelError } from "../../values/value.ts";
import type { Invocation } from "../invocation.ts";
import type { Invoke, Node } from "../ir.ts";
import { textCost } from "../runtime.ts";
import type { Code, Operand } from "./code.ts";

export function invoke(code: Code, { call, args }: Invoke): Operand {
  if (call.stopsEarly || call.prepaid || args.length > 2) return invokeAny(code, call, args);
  const operands = args.map((arg) => code.emit(arg));
  const [a, b] = operands;
  const result = code.variable();
  const fast = fastPath(call, args, operands, result);
  if (fast !== undefined) code.open(`${fast} else {`);
  const invoked = `${code.keep(call.invoke)}(${a ?? null}, ${b ?? null}, null, null)`;
  const guards = [a, b].filter((operand, i) => operand !== undefined && mayFail(args[i]!));
  const errors = guards.map((operand) => `${operand} instanceof CelError ? ${operand} : `).join("");
  code.write(`${result} = ${errors}${invoked};`);
  payCall(code, call, [a, b], result);
  if (fast !== undefined) code.close();
  return result;
}

function payCall(
  code: Code,
  { cost }: Invocation,
  args: readonly (Operand | undefined)[],
  result: Operand,
): void {
  if (typeof cost === "number") code.pay(cost);
  else {
    const all = [0, 1, 2].map((i) => args[i] ?? "null");
    code.write(`c += ${code.keep(cost)}(${all.join(", ")}, ${result});`);
    // The result can be large, and a loop checks the limit only at the end of each iteration.
    code.write("if (c > L) { F.cost = c; return null; }");
  }
}

/** An `if` statement for the most frequent types of arguments. The general case follows in `else`. */
function fastPath(
  { name, cost }: Invocation,
  args: readonly Node[],
  [a, b]: readonly Operand[],
  result: Operand,
): string | undefined {
  if (name === "!_") return `if (typeof ${a} === "boolean") { ${result} = !${a}; c += 1; }`;
  const operator = operators[name];
  if (operator === undefined) return undefined;
  const at = args.findIndex((arg) => arg.kind === "constant");
  const known = args[at];
  if (known?.kind !== "constant") return undefined;
  const [other, literal] = at === 0 ? [b, a] : [a, b];
  const compared = `${result} = ${a} ${operator} ${b};`;
  const value = known.value;
  const equality = operator === "===" || operator === "!==";
  if (typeof value === "bigint" && (equality || cost === 1)) {
    return `if (typeof ${other} === "bigint") { ${compared} c += 1; }`;
  }
  if (typeof value === "boolean" && equality) {
    return `if (typeof ${other} === "boolean") { ${compared} c += 1; }`;
  }
  if (typeof value !== "string" || !equality) return undefined;
  const size = textLength(value);
  const same = textCost(value, size);
  const differs = `textCost(${other}, ${size})`;
  return `if (typeof ${other} === "string") { ${compared} c += ${other} === ${literal} ? ${same} : ${differs}; }`;
}

function invokeAny(code: Code, call: Invocation, args: readonly Node[]): Operand {
  const result = code.variable();
  const label = code.label();
  code.open(`${label}: {`);
  const operands: Operand[] = [];
  const errors: string[] = [];
  args.forEach((arg, i) => {
    const operand = code.emit(arg);
    operands.push(operand);
    if (!mayFail(arg)) return;
    if (call.stopsEarly && i < args.length - 1) {
      code.leaveOnError(operand, result, label);
    } else errors.push(`${operand} instanceof CelError ? ${operand} : `);
  });
  if (call.prepaid) {
    code.flush();
    payCall(code, call, operands, "null");
    code.flush();
    code.write("if (c > L) { F.cost = c; return null; }");
  }
  const all = [0, 1, 2, 3].map((i) => operands[i] ?? "null").join(", ");
  code.write(`${result} = ${errors.join("")}${code.keep(call.invoke)}(${all});`);
  if (!call.prepaid) payCall(code, call, operands, result);
  code.close();
  return result;
}

/** Reports whether the value of a node can be an error. */
export const mayFail = (node: Node): boolean => node.kind !== "constant" || node.value instanceof CelError;

/** Operators with the same meaning in JavaScript, for the types that `fastPath` checks. */
const operators: Readonly<Record<string, string>> = {
  "_==_": "===",
  "_!=_": "!==",
  "_<_": "<",
  "_<=_": "<=",
  "_>_": ">",
  "_>=_": ">=",
};
