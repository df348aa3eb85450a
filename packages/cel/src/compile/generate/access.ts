import { CelError } from "../../values/value.ts";
import { deviceIndex } from "../frame.ts";
import type { Chain, Node, Presence, Qualifier } from "../ir.ts";
import type { Code, Operand } from "./code.ts";

/** The result of a chain. */
export interface Path {
  /** Undefined if an optional qualifier found nothing; may be an error. */
  readonly value: Operand;
  /** Whether the result is an optional value: a boolean literal or a variable. */
  readonly optional: Operand;
}

export function chain(code: Code, node: Chain): Operand {
  if (node.qualifiers.length === 0) {
    const value = code.emit(node.base);
    code.pay(node.own);
    return value;
  }
  return wrapped(code, path(code, node), node);
}

/** Makes an optional value of the result of a chain if necessary. */
export function wrapped(code: Code, { value, optional }: Path, { own }: Chain): Operand {
  code.pay(own);
  if (optional === "false") return value;
  const result = code.variable();
  const found = `${value} instanceof CelError ? ${value} : new Optional(${value})`;
  const some = optional === "true" ? found : `${optional} ? ${found} : ${value}`;
  code.write(`${result} = ${value} === undefined ? none : ${some};`);
  return result;
}

export function path(code: Code, node: Chain): Path {
  return devicePath(code, node) ?? anyPath(code, node);
}

/** A chain to a field of the device, or to an attribute or capacity by constant names. */
function devicePath(code: Code, { base, qualifiers }: Chain): Path | undefined {
  const names = deviceNames(base, qualifiers);
  if (names === undefined) return undefined;
  const [field, domain, id] = names;
  const optional = String(qualifiers.some((qualifier) => qualifier.optional));
  const scalar = field === "driver" || field === "allowMultipleAllocations";
  if (scalar && qualifiers.length === 1) {
    code.pay(1);
    return { value: `D.${field}`, optional };
  }
  const inside = field === "attributes" || field === "capacity";
  if (!inside || domain === undefined || qualifiers.length > 3) return undefined;
  code.pay(2);
  if (id === undefined) return { value: domainMap(code, field, domain), optional };
  const result = member(code, field, domain, id);
  if (optional === "true") {
    code.open(`if (${result} !== undefined) {`);
    code.pay(1);
    code.close();
  } else {
    code.pay(1);
    const value = code.variable();
    const missing = code.keep(new CelError(`no such key: ${id}`));
    code.write(`${value} = ${result} ?? ${missing};`);
    return { value, optional };
  }
  return { value: result, optional };
}

/** The map of a domain, looked up once per evaluation. */
function domainMap(code: Code, field: string, domain: string): Operand {
  const name = code.shared(JSON.stringify([field, domain]));
  code.write(`${name} ??= D.${field}.get(${JSON.stringify(domain)}) ?? emptyDomain;`);
  return name;
}

/** An attribute or capacity, or undefined. If it exists, it is looked up once per evaluation. */
function member(code: Code, field: string, domain: string, id: string): Operand {
  const name = code.shared(JSON.stringify([field, domain, id]));
  code.write(`if (${name} === undefined) {`);
  const map = domainMap(code, field, domain);
  code.write(`${name} = ${map}.find(${JSON.stringify(id)});`);
  code.write("}");
  return name;
}

function anyPath(code: Code, { base, qualifiers, maybeOptional }: Chain): Path {
  const start = code.emit(base);
  const value = code.variable();
  const label = code.label();
  let optional: Operand = "false";
  code.write(`${value} = ${start};`);
  code.open(`${label}: {`);
  if (maybeOptional) {
    optional = code.variable();
    code.write(`if (${optional} = ${value} instanceof Optional) ${value} = ${value}.value;`);
    code.write(`if (${value} === undefined) break ${label};`);
  }
  code.write(`if (${value} instanceof CelError) break ${label};`);
  for (const qualifier of qualifiers) {
    if (qualifier.optional) optional = "true";
    access(code, qualifier, { value, optional }, label);
  }
  code.close();
  return { value, optional };
}

/** Follows one qualifier. An error, and undefined for a missing member, leave the block of the chain. */
function access(code: Code, { key, declared }: Qualifier, { value, optional }: Path, label: string): void {
  const by = code.emit(key);
  code.flush();
  const paid = optional === "false" ? "c += 1; " : optional === "true" ? "" : `if (!${optional}) c += 1; `;
  if (key.kind !== "constant") {
    const bad = code.variable();
    code.write(`if ((${bad} = keyError(${by})) !== undefined) { ${paid}${value} = ${bad}; break ${label}; }`);
  }
  const qualify = declared ? "qualifyField" : "qualify";
  const get =
    optional === "false" ? qualify : optional === "true" ? "lookup" : `(${optional} ? lookup : ${qualify})`;
  code.write(`${value} = ${get}(${value}, ${by});`);
  if (optional !== "false") code.write(`if (${value} === undefined) break ${label};`);
  code.write(`if (${value} instanceof CelError) { ${paid}break ${label}; }`);
  code.pay(1);
}

export function presence(code: Code, { chain, field, own, declared }: Presence): Operand {
  const known = devicePresence(code, chain, field);
  if (known !== undefined) return known;
  const { value, optional } = path(code, chain);
  const result = code.variable();
  code.flush();
  code.write(`if (${value} === undefined) ${result} = false;`);
  code.write(`else if (${value} instanceof CelError) ${result} = ${value};`);
  code.write(`else {`);
  const find = declared ? "lookupField" : "lookup";
  code.write(`${result} = ${find}(${value}, ${JSON.stringify(field)});`);
  const counts = `${result} !== undefined && !(${result} instanceof CelError)`;
  if (optional === "false") code.write("c += 1;");
  else code.write(`if (${optional === "true" ? "" : `!${optional} || `}${counts}) c += 1;`);
  code.write(`if (!(${result} instanceof CelError)) ${result} = ${result} !== undefined;`);
  code.write("}");
  // A negative `own` is subtracted after the check of the limit.
  if (own < 0) code.write("if (c > L) { F.cost = c; return null; }");
  code.pay(own);
  return result;
}

/** `has()` of an attribute or capacity by constant names. */
function devicePresence(code: Code, { base, qualifiers }: Chain, last: string): Operand | undefined {
  if (qualifiers.some(({ optional }) => optional)) return undefined;
  const [field, domain, id] = [...(deviceNames(base, qualifiers) ?? []), last];
  if ((field !== "attributes" && field !== "capacity") || domain === undefined) return undefined;
  if (id === undefined || qualifiers.length !== 2) return undefined;
  code.pay(3);
  return `(${member(code, field, domain, id)} !== undefined)`;
}

/** The names of a chain that starts at the device; undefined for any other chain, and for computed names. */
function deviceNames(base: Node, qualifiers: readonly Qualifier[]): readonly string[] | undefined {
  if (base.kind !== "variable" || base.index !== deviceIndex) return undefined;
  const names: string[] = [];
  for (const { key } of qualifiers) {
    if (key.kind !== "constant" || typeof key.value !== "string") return undefined;
    names.push(key.value);
  }
  return names;
}
