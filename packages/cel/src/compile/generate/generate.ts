import { emptyDomain } from "../../values/domain-map.ts";
import { LiteralMap } from "../../values/maps.ts";
import { CelError, Optional, type Value } from "../../values/value.ts";
import { type Frame, variable } from "../frame.ts";
import type { Conditional, Fallback, Lazy, Logical, Node } from "../ir.ts";
import * as runtime from "../runtime.ts";
import { chain, path, presence, wrapped } from "./access.ts";
import { invoke } from "./calls.ts";
import { Code, type Operand, SourceTooLong } from "./code.ts";
import { append, insert, list, loop, map, message } from "./collections.ts";

/** The names that generated code refers to. */
const scope = {
  ...runtime,
  CelError,
  LiteralMap,
  none: Optional.none,
  Optional,
  emptyDomain,
  variable,
};

/**
 * The back end that generates JavaScript: one function of plain statements, in which constant costs are
 * summed up. Returns undefined if the source is too long. The function leaves its cost in the frame; its
 * result is meaningless if the cost exceeds the limit.
 */
export function generate(root: Node): ((frame: Frame) => Value) | undefined {
  try {
    const code = new Code(emit);
    const { source, constants } = code.finish(code.emit(root));
    const names = Object.keys(scope);
    const make = new Function(...names, "K", source) as (...args: unknown[]) => (frame: Frame) => Value;
    return make(...Object.values(scope), constants);
  } catch (error) {
    if (error instanceof SourceTooLong) return undefined;
    throw error;
  }
}

function emit(code: Code, node: Node): Operand {
  switch (node.kind) {
    case "constant":
      return code.literal(node.value);
    case "folded":
      code.pay(node.cost);
      return code.literal(node.value);
    case "variable": {
      const result = code.variable();
      const missing = code.keep(new CelError(`no such attribute(s): ${node.name}`));
      code.write(`if ((${result} = variable(F, ${node.index})) === undefined) ${result} = ${missing};`);
      return result;
    }
    case "local":
      return code.slot(node.slot);
    case "lazy":
      return lazy(code, node);
    case "chain":
      return chain(code, node);
    case "presence":
      return presence(code, node);
    case "logical":
      return logical(code, node);
    case "conditional":
      return conditional(code, node);
    case "invoke":
      return invoke(code, node);
    case "notStrictlyFalse": {
      const operand = code.emit(node.operand);
      const result = code.variable();
      code.write(`${result} = ${operand} instanceof CelError ? true : ${operand};`);
      code.pay(1);
      return result;
    }
    case "fallback":
      return fallback(code, node);
    case "inSet": {
      const needle = code.emit(node.needle);
      const result = code.variable();
      code.write(`${result} = ${code.keep(node.set)}.has(${needle});`);
      return result;
    }
    case "list":
      return list(code, node);
    case "map":
      return map(code, node);
    case "message":
      return message(code, node);
    case "append":
      return append(code, node);
    case "insert":
      return insert(code, node);
    case "loop":
      return loop(code, node);
    case "bind":
      code.write(`${code.slot(node.slot)} = undefined;`);
      return code.emit(node.result);
  }
}

function lazy(code: Code, node: Lazy): Operand {
  const slot = code.slot(node.slot);
  code.open(`if (${slot} === undefined) {`);
  const value = code.emit(node.init);
  code.flush();
  code.write(`${slot} = bindingValue(${value});`);
  code.close();
  return slot;
}

function logical(code: Code, node: Logical): Operand {
  const { stop } = node;
  const left = code.emit(node.left);
  const result = code.variable();
  code.open(`if (${left} === ${stop}) ${result} = ${stop}; else {`);
  const right = code.emit(node.right);
  code.flush();
  code.write(
    `${result} = ${right} === ${stop} ? ${stop} : ${left} === ${!stop} && ${right} === ${!stop} ? ${!stop} : logicalResult(${left}, ${right}, ${stop});`,
  );
  code.close();
  return result;
}

function conditional(code: Code, node: Conditional): Operand {
  const condition = code.emit(node.condition);
  const result = code.variable();
  code.open(`if (${condition} === true) {`);
  const yes = code.emit(node.yes);
  code.write(`${result} = ${yes};`);
  code.close(`} else if (${condition} === false) {`);
  const no = code.emit(node.no);
  code.write(`${result} = ${no};`);
  code.close(`} else ${result} = conditionError(${condition});`);
  return result;
}

function fallback(code: Code, node: Fallback): Operand {
  const result = code.variable();
  if (node.name === "orValue" && node.target.kind === "chain") {
    // The result of an optional chain is used without making an optional value of it.
    const { value, optional } = path(code, node.target);
    if (optional === "true") {
      code.pay(node.target.own);
      code.write(`${result} = ${value};`);
    } else code.write(`${result} = fallback(${wrapped(code, { value, optional }, node.target)}, "orValue");`);
  } else {
    const target = code.emit(node.target);
    code.write(`${result} = fallback(${target}, ${JSON.stringify(node.name)});`);
  }
  code.open(`if (${result} === undefined) {`);
  const other = code.emit(node.other);
  code.write(`${result} = ${other};`);
  code.close();
  return result;
}
