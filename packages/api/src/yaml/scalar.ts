import { quoted } from "../text/quoted.ts";

/** Not YAML; the message names the line. */
export class YAMLError extends Error {
  override readonly name = "YAMLError";
  /** Number of the document in its stream, from 1 on. */
  document?: number;
  /** Line of the text, from 1 on, where known; go-yaml's messages count some lines from 0. */
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(message);
    this.line = line;
  }
}

/** Value of a plain scalar. */
export type YAMLScalar = string | number | bigint | boolean | null;

const words = new Map<string, YAMLScalar>([
  ...["y", "yes", "true", "on"].flatMap((word) => spellings(word).map((text) => [text, true] as const)),
  ...["n", "no", "false", "off"].flatMap((word) => spellings(word).map((text) => [text, false] as const)),
  ...["", "~", ...spellings("null")].map((text) => [text, null] as const),
  ...[".nan", ".NaN", ".NAN"].map((text) => [text, Number.NaN] as const),
  ...[".inf", ".Inf", ".INF"].flatMap((text) => [
    [text, Number.POSITIVE_INFINITY] as const,
    [`+${text}`, Number.POSITIVE_INFINITY] as const,
    [`-${text}`, Number.NEGATIVE_INFINITY] as const,
  ]),
]);

/** `yes`, `Yes`, `YES`. */
function spellings(word: string): string[] {
  const upper = word.toUpperCase();
  return [...new Set([word, `${upper[0]}${word.slice(1)}`, upper])];
}

const date = /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt ]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?$/;
const shortNumber = /^(?:0|-?[1-9][0-9]{0,14})$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/**
 * The value of a plain scalar by the rules of YAML 1.1 that Kubernetes follows (go-yaml 2): `yes`, `on`
 * and `y` are booleans, `012` and `0o12` are octal, `1_000` is a number, dates are strings.
 */
export function plainScalar(text: string): YAMLScalar {
  // Most texts, and most numbers, can be nothing else.
  if (shortNumber.test(text)) return Number(text);
  const word = words.get(text);
  if (word !== undefined) return word;
  if (text.startsWith(".")) return float.test(text) ? finite(text) : text;
  if (!/^[-+0-9]/.test(text) || date.test(text)) return text;
  const digits = text.includes("_") ? text.replaceAll("_", "") : text;
  const whole = wholeNumber(digits);
  if (whole !== undefined) return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  return float.test(digits) ? finite(digits, text) : text;
}

/** A number too large for a float is text. */
function finite(digits: string, text = digits): YAMLScalar {
  const number = Number(digits);
  return Number.isFinite(number) ? number : text;
}

/** A whole number that 64 bits hold, with or without sign. */
function wholeNumber(text: string): bigint | undefined {
  const match = /^([-+]?)(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)$/.exec(text);
  if (match?.[2] === undefined) return undefined;
  const digits = match[2].replace(/^0[oO]?(?=[0-7])/, "0o").replace(/^(0[a-zA-Z])0+(?=.)/, "$1");
  // More digits than 64 bits have in any base: the time to read them grows with the square of their number.
  if (digits.length > 66) return undefined;
  const value = match[1] === "-" ? -BigInt(digits) : BigInt(digits);
  if (BigInt.asIntN(64, value) === value) return value;
  // Only text without a sign is tried as an unsigned number.
  return match[1] === "" && BigInt.asUintN(64, value) === value ? value : undefined;
}

/** The value of a scalar with an explicit tag. Throws YAMLError where the text does not fit it. */
export function taggedScalar(tag: string, text: string): YAMLScalar {
  if (tag === "str") return text;
  if (tag === "binary") return Buffer.from(text, "base64").toString("utf8");
  if (!["bool", "int", "float", "null", "timestamp"].includes(tag)) return text;
  if (tag === "timestamp" && date.test(text)) return text;
  const value = plainScalar(text);
  const form = formOf(value, text);
  if (form === tag || (tag === "float" && form === "int")) return value;
  throw new YAMLError(`yaml: cannot decode !!${form} \`${text}\` as a !!${tag}`);
}

function formOf(value: YAMLScalar, text: string): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int";
  if (typeof value === "string") return "str";
  return wholeNumber(text.replaceAll("_", "")) === undefined ? "float" : "int";
}

/**
 * The text of a key: JSON has no other keys. Throws YAMLError for keys that Kubernetes rejects, with the
 * value as it prints it.
 */
export function keyText(key: YAMLScalar, value: unknown): string {
  const shown = (): string => (value === null ? "<nil>" : goSyntax(value));
  if (key === null) {
    throw new YAMLError(`unsupported map key of type: %!s(<nil>), key: <nil>, value: ${shown()}`);
  }
  if (typeof key === "bigint" && BigInt.asIntN(64, key) !== key) {
    throw new YAMLError(`unsupported map key of type: uint64, key: 0x${key.toString(16)}, value: ${shown()}`);
  }
  if (typeof key !== "number" || Number.isSafeInteger(key)) return String(key);
  return singlePrecision(key);
}

/** A value of YAML as the syntax of Go has it. */
export function goSyntax(value: unknown): string {
  if (value === null) return "interface {}(nil)";
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(", ")}}`;
  if (typeof value !== "object") return typeof value === "string" ? quoted(value) : String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = entries.map(([key, part]) => `${quoted(key)}:${goSyntax(part)}`);
  return `map[interface {}]interface {}{${parts.join(", ")}}`;
}

/** Go shortens keys that are floats to 32 bits. */
function singlePrecision(key: number): string {
  if (Number.isNaN(key)) return ".nan";
  const single = Math.fround(key);
  if (!Number.isFinite(single)) return single > 0 ? ".inf" : "-.inf";
  for (let precision = 1; precision <= 9; precision++) {
    const shown = single.toExponential(precision - 1);
    if (Math.fround(Number(shown)) !== single) continue;
    const [digits, power] = shown.split("e") as [string, string];
    const exponent = Number(power);
    if (exponent >= -4 && exponent < 6) return String(Number(shown));
    return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  return String(single);
}
