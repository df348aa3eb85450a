import { createHash } from "node:crypto";
import { shown, type Value } from "./value.ts";

/** The values of the names in braces of a template. */
export type Variables = Readonly<Record<string, string | number>>;

/**
 * `{name}`, with whole-number arithmetic and a width: `{index/4}`, `{index%4*16}`, `{index+1:02x}`; `{{` is a
 * brace.
 */
const placeholder = /\{\{|\}\}|\{([^{}]*)\}/g;
const expression = /^([a-zA-Z]+)((?:[-+*/%]\d+)*)(?::(0\d+)?(x)?)?$/;

/**
 * The value with all names in braces replaced, in the strings of the whole tree; keys of maps stay as they
 * are. Throws a FleetError for a name that is not known.
 */
export function substitute(value: Value, variables: Variables): Value {
  const walk = (one: Value): unknown => {
    const { raw } = one;
    if (typeof raw === "string") return substituteText(one, raw, variables);
    if (Array.isArray(raw)) return one.list(walk);
    if (typeof raw === "object" && raw !== null) return one.map(walk);
    return raw;
  };
  return value.with(walk(value));
}

function substituteText(value: Value, text: string, variables: Variables): string {
  return text.replaceAll(placeholder, (match, inner: string | undefined) => {
    if (inner === undefined) return match.slice(1);
    const [, name = "", operations = "", width, hex] = expression.exec(inner) ?? [];
    const known = [...Object.keys(variables), "uuid"];
    if (!known.includes(name))
      value.fail(
        `${shown(text)} has ${match}, which is not known; known are ${known.map((one) => `{${one}}`).join(", ")}, and numbers with + - * / % and a width: {index/4}, {index:02x}`,
      );
    const found = name === "uuid" ? uuid(variables) : variables[name]!;
    if (operations === "" && width === undefined && hex === undefined) return String(found);
    if (typeof found !== "number")
      value.fail(`${shown(text)} calculates with {${name}}, which is not a number`);
    const result = calculate(found as number, operations, value, text);
    return result.toString(hex === undefined ? 10 : 16).padStart(Number(width ?? 0), "0");
  });
}

/** From left to right. */
function calculate(start: number, operations: string, value: Value, text: string): number {
  return [...operations.matchAll(/([-+*/%])(\d+)/g)].reduce((left, [, operator, digits]) => {
    const right = Number(digits);
    if (right === 0 && (operator === "/" || operator === "%")) value.fail(`${shown(text)} divides by 0`);
    switch (operator) {
      case "+":
        return left + right;
      case "-":
        return left - right;
      case "*":
        return left * right;
      case "/":
        return Math.floor(left / right);
      default:
        return left % right;
    }
  }, start);
}

/** The same for the same variables: a device keeps its identity when its driver starts anew. */
function uuid(variables: Variables): string {
  const hex = createHash("sha256").update(JSON.stringify(variables)).digest("hex");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-4$3-8$4-$5");
}
