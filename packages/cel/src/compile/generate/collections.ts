import type { Append, Insert, Loop, MakeList, MakeMap, MakeMessage } from "../ir.ts";
import { mayFail } from "./calls.ts";
import type { Code, Operand } from "./code.ts";

export function list(code: Code, { elements, optional }: MakeList): Operand {
  const [list, result] = [code.variable(), code.variable()];
  const label = code.label();
  code.write(`${list} = []; ${result} = undefined;`);
  code.open(`${label}: {`);
  elements.forEach((element, i) => {
    const value = code.emit(element);
    code.flush();
    if (mayFail(element)) code.leaveOnError(value, result, label);
    if (!optional.has(i)) code.write(`${list}.push(${value});`);
    else code.write(`if ((${result} = pushOptional(${list}, ${value})) !== undefined) break ${label};`);
  });
  code.close();
  code.write(`if (${result} === undefined) ${result} = ${list};`);
  code.pay(10);
  return result;
}

export function map(code: Code, { entries }: MakeMap): Operand {
  const [map, result] = [code.variable(), code.variable()];
  const label = code.label();
  code.write(`${map} = new LiteralMap(); ${result} = undefined;`);
  code.open(`${label}: {`);
  for (const entry of entries) {
    const operands = [entry.key, entry.value].map((node) => {
      const operand = code.emit(node);
      code.flush();
      if (mayFail(node)) code.leaveOnError(operand, result, label);
      return operand;
    });
    const pair = operands.join(", ");
    if (!entry.optional) code.write(`${map}.set(${pair});`);
    else code.write(`if ((${result} = setOptional(${map}, ${pair})) !== undefined) break ${label};`);
  }
  code.close();
  code.write(`if (${result} === undefined) ${result} = ${map};`);
  code.pay(30);
  return result;
}

export function message(code: Code, { type, fields }: MakeMessage): Operand {
  const [made, result] = [code.variable(), code.variable()];
  const label = code.label();
  code.write(`${made} = new Map(); ${result} = undefined;`);
  code.open(`${label}: {`);
  for (const field of fields) {
    const value = code.emit(field.value);
    code.flush();
    if (mayFail(field.value)) code.leaveOnError(value, result, label);
    const entry = `${JSON.stringify(field.name)}, ${value}`;
    if (!field.optional) code.write(`${made}.set(${entry});`);
    else code.write(`if ((${result} = setOptionalField(${made}, ${entry})) !== undefined) break ${label};`);
  }
  code.close();
  code.write(`if (${result} === undefined) ${result} = ${code.keep(type)}.make(${made});`);
  code.pay(40);
  return result;
}

export function loop(code: Code, node: Loop): Operand {
  const two = node.second !== undefined;
  const range = code.emit(node.range);
  const [items, i, result] = [code.variable(), code.variable(), code.variable()];
  const accumulator = code.slot(node.slot);
  const first = code.slot(node.first);
  code.open(
    `if ((${items} = iterationItems(${range})) === undefined) ${result} = notIterable(${range}, ${two});`,
  );
  code.write("else {");
  code.write(`${accumulator} = ${code.literal(node.init)};`);
  code.write(`for (${i} = 0; ${i} < ${items}.length; ${i}++) {`);
  if (node.second !== undefined) {
    code.write(`${first} = ${items} === ${range} ? BigInt(${i}) : ${items}[${i}];`);
    code.write(`${code.slot(node.second)} = elementAt(${range}, ${items}, ${i});`);
  } else code.write(`${first} = ${items}[${i}];`);
  const condition = code.emit(node.condition);
  code.flush();
  if (condition !== "true") code.write(`if (${condition} === false) break;`);
  const step = code.emit(node.step);
  code.flush();
  code.write(`${accumulator} = ${step};`);
  code.write("if (c > L) { F.cost = c; return null; }");
  code.close();
  const last = code.emit(node.result);
  code.write(`${result} = ${last};`);
  code.close();
  return result;
}

/** `list + [element]` in place. The accumulator is charged first. */
export function append(code: Code, node: Append): Operand {
  code.pay(1);
  const element = code.emit(node.element);
  const result = code.variable();
  code.write(`${result} = append(${code.slot(node.slot)}, ${element});`);
  code.pay(node.makes + 1);
  return result;
}

/** With a key and a value the first error ends the call, and only that of the value is charged. */
export function insert(code: Code, node: Insert): Operand {
  const slot = code.slot(node.slot);
  const result = code.variable();
  code.pay(1);
  if (node.args.length === 1) {
    const map = code.emit(node.args[0]!);
    code.pay(1);
    code.write(`${result} = insert(${slot}, ${map}, undefined);`);
    return result;
  }
  const label = code.label();
  code.open(`${label}: {`);
  code.leaveOnError(slot, result, label);
  const key = code.emit(node.args[0]!);
  code.leaveOnError(key, result, label);
  const value = code.emit(node.args[1]!);
  code.pay(1);
  code.write(`${result} = insert(${slot}, ${key}, ${value});`);
  code.close();
  return result;
}
