import { type Expr, walk } from "../syntax/ast.ts";
import type { Problem, Source } from "../syntax/source.ts";
import { type CelType, checkerName } from "../values/types.ts";
import { attributePath, domainAccess, domainMap, type NamedMap, text } from "./paths.ts";

/** Words and signs of other languages, by what CEL writes instead. */
const foreign: Readonly<Record<string, string>> = {
  and: "&&",
  or: "||",
  not: "!",
  "&": "&&",
  "|": "||",
  "=": "==",
  "===": "==",
  "!==": "!=",
  "<>": "!=",
};

/** What may be meant by an expression that does not compile, one sentence each; nothing where we cannot guess. */
export function failureHints(
  source: Source,
  expr: Expr | undefined,
  problems: readonly Problem[],
): readonly string[] {
  const hints = new Set<string>();
  if (expr === undefined) {
    for (const { at } of problems) addTo(hints, syntaxHint(source, at));
    return [...hints];
  }
  const wrong = new Map(problems.map(({ at, message }) => [at, message]));
  for (const node of walk(expr)) {
    const message = wrong.get(node.at);
    if (message !== undefined) addTo(hints, checkerHint(node, message));
    if (node.kind === "call" && node.name === "_-_") addTo(hints, dashHint(node.args, wrong));
  }
  return [...hints];
}

function addTo(hints: Set<string>, hint: string | undefined): void {
  if (hint !== undefined) hints.add(hint);
}

function syntaxHint(source: Source, at: number): string | undefined {
  if (at < 0) return undefined;
  const rest = source.points.slice(at, at + 8).join("");
  if (/^[“”„‟‘’‚‛]/.test(rest)) return `texts stand between straight quotes: ' or "`;
  const before = source.points.slice(Math.max(0, at - 8), at).join("");
  if (/(^|\W)not\s+$/.test(before)) return "write `!` for `not`";
  const sign = /^(={1,3}|&|\||<>)/.exec(rest)?.[0] ?? /^(and|or|not)\b/i.exec(rest)?.[0] ?? "";
  const whole = /[=!]=$/.test(before) && sign.startsWith("=") ? before.slice(-2) + sign[0] : sign;
  const instead = rest.startsWith(">") && before.endsWith("<") ? "!=" : foreign[whole.toLowerCase()];
  if (instead === undefined) return undefined;
  return `write \`${instead}\` for \`${instead === "!=" && whole === "" ? "<>" : whole}\``;
}

const comparisons: ReadonlySet<string> = new Set(["_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"]);
const fieldsOfDevice = ["driver", "attributes", "capacity", "allowMultipleAllocations"];

function checkerHint(node: Expr, message: string): string | undefined {
  if (node.kind === "identifier") return undeclaredHint(node.name, message);
  if (node.kind === "select") return fieldHint(node, message);
  if (node.kind !== "call") return undefined;
  if (message.startsWith("undeclared reference to 'includes'")) {
    return "`includes` needs the feature gate DRAListTypeAttributes";
  }
  const operands = node.target === undefined ? node.args : [node.target, ...node.args];
  const domain = operands.map(wholeDomainHint).find((hint) => hint !== undefined);
  if (domain !== undefined) return domain;
  return comparisons.has(node.name) ? comparisonHint(operands) : argumentHint(node.name, operands);
}

function undeclaredHint(name: string, message: string): string | undefined {
  if (!message.startsWith("undeclared reference")) return undefined;
  if (fieldsOfDevice.includes(name)) return `write \`device.${name}\``;
  return undefined;
}

/** A field that the device or a quantity does not have. */
function fieldHint(node: Expr & { kind: "select" }, message: string): string | undefined {
  const type = node.operand.type;
  if (type?.name === "kubernetes.Quantity") {
    return "a quantity has methods and no fields: `compareTo(…)`, `isGreaterThan(…)`, `asInteger()`";
  }
  if (type?.name !== "kubernetes.DRADevice" || !message.startsWith("undefined field")) return undefined;
  if (node.field === "allowMultipleAllocations") {
    return "`device.allowMultipleAllocations` needs the feature gate DRAConsumableCapacity";
  }
  const near = fieldsOfDevice.find((field) => resembles(field, node.field));
  if (near !== undefined) return `write \`device.${near}\``;
  return `attributes are found by their domain first: \`device.attributes["DOMAIN"].${node.field}\`, capacities likewise`;
}

const resembles = (a: string, b: string): boolean =>
  a.toLowerCase().startsWith(b.toLowerCase().slice(0, 5)) || nearlySame(a, b);

/** Where one attribute is wanted, all of a domain stand. */
function wholeDomainHint(expr: Expr): string | undefined {
  const map = domainMap(expr);
  if (map !== undefined) {
    return `\`device.${map}\` holds all domains: write \`device.${map}["DOMAIN"].NAME\``;
  }
  const access = domainAccess(expr);
  return access?.domain === undefined ? undefined : domainHint(access.map, access.domain);
}

function domainHint(map: NamedMap, domain: string): string {
  const slash = domain.indexOf("/");
  if (slash >= 0) {
    const path = attributePath(map, domain.slice(0, slash), domain.slice(slash + 1));
    return `the map is by domain first: write \`${path}\``;
  }
  if (domain.includes("."))
    return `\`${attributePath(map, domain)}\` holds all of a domain: add the name, as in \`${attributePath(map, domain, "NAME")}\``;
  return `the map is by domain first: write \`${attributePath(map, "DOMAIN", domain)}\` (a name without domain is of the driver's)`;
}

/** `device.attributes["d"].vram-gb` */
function dashHint([left, right]: readonly Expr[], wrong: ReadonlyMap<number, string>): string | undefined {
  if (left?.kind !== "select" || right?.kind !== "identifier" || !wrong.has(right.at)) return undefined;
  const access = domainAccess(left.operand);
  if (access?.domain === undefined) return undefined;
  return `a name with a dash stands in brackets: write \`${attributePath(access.map, access.domain, `${left.field}-${right.name}`)}\``;
}

const plain: ReadonlySet<string> = new Set(["int", "uint", "double", "string"]);

function comparisonHint(operands: readonly Expr[]): string | undefined {
  const [left, right] = operands.map(({ type }) => type);
  if (left === undefined || right === undefined) return undefined;
  for (const [kind, make, type, other] of [
    ["a quantity", "quantity", left, right],
    ["a quantity", "quantity", right, left],
    ["a version", "semver", left, right],
    ["a version", "semver", right, left],
  ] as const) {
    if (type.name !== `kubernetes.${make === "semver" ? "Semver" : "Quantity"}`) continue;
    const example = make === "semver" ? "1.2.3" : "40Gi";
    const value = written(operands, type === left ? 1 : 0, other) ?? example;
    return `${kind} is compared by methods: \`x.compareTo(${make}("${value}")) >= 0\`, \`x.isGreaterThan(${make}("${value}"))\``;
  }
  if (plain.has(left.kind) && plain.has(right.kind) && left.kind !== right.kind) {
    return `\`==\` and \`!=\` want the same type on both sides: convert one, as in \`${left.kind}(…)\``;
  }
  return undefined;
}

/** The constant that stands there, without its quotes. */
function written(operands: readonly Expr[], i: number, type: CelType): string | undefined {
  const operand = operands[i];
  if (!plain.has(type.kind) || operand?.kind !== "literal") return undefined;
  return typeof operand.value === "object" ? undefined : String(operand.value);
}

const methods: ReadonlySet<string> = new Set(["isGreaterThan", "isLessThan", "compareTo", "add", "sub"]);

function argumentHint(name: string, operands: readonly Expr[]): string | undefined {
  const [receiver, argument] = operands;
  const type = receiver?.type?.name;
  if (name === "sign" && type === "kubernetes.Quantity") return "`sign` is no method: write `sign(x)`";
  if (!methods.has(name) || argument?.type === undefined || !plain.has(argument.type.kind)) return undefined;
  const make =
    type === "kubernetes.Semver" ? "semver" : type === "kubernetes.Quantity" ? "quantity" : undefined;
  if (make === undefined) return undefined;
  const value = written(operands, 1, argument.type);
  return `\`${name}\` takes a ${make}: write \`${make}(${value === undefined ? text(argument) : JSON.stringify(value)})\``;
}

/** What may be meant by an expression that compiles and is neither true nor false. */
export function resultHints(expr: Expr): readonly string[] {
  const domain = wholeDomainHint(expr);
  if (domain !== undefined) return [domain];
  const type = expr.type;
  if (type === undefined) return [];
  if (type.name === "kubernetes.Quantity") {
    return [
      `a selector is true or false: compare the quantity, as in \`${text(expr)}.isGreaterThan(quantity("40Gi"))\``,
    ];
  }
  if (type.kind === "struct" || type.kind === "list" || type.kind === "map") {
    return [`a selector is true or false, and this is a ${checkerName(type)}`];
  }
  return [`a selector is true or false: compare it, as in \`${text(expr)} == …\``];
}

/** Longer texts are not compared: nobody has mistyped those by hand. */
const longestName = 100;

/** Whether at most two characters are to add, drop or replace until the texts are the same. */
export function nearlySame(a: string, b: string): boolean {
  if (Math.max(a.length, b.length) > longestName) return false;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]! <= 2;
}
