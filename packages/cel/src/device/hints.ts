import type { CheckedExpression } from "../check/checked-expression.ts";
import type { Expr, Select } from "../syntax/ast.ts";
import type { Problem, Source } from "../syntax/source.ts";
import { type CelType, checkerName } from "../values/types.ts";
import { attributePath, type DomainMapName, domainAccess, domainMap, text } from "./device-paths.ts";
import { isSimilar } from "./similar-names.ts";

/** Operators of other languages, and those of CEL. */
const foreignOperators: Readonly<Record<string, string>> = {
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

/**
 * Suggests what was meant by an invalid expression, one sentence each. `checked` is undefined after a syntax
 * error.
 */
export function failureHints(
  source: Source,
  checked: CheckedExpression | undefined,
  problems: readonly Problem[],
): readonly string[] {
  const hints = new Set<string>();
  const add = (hint: string | undefined): void => {
    if (hint !== undefined) hints.add(hint);
  };
  if (checked === undefined) {
    for (const { offset } of problems) add(syntaxHint(source, offset));
    return [...hints];
  }
  const messages = new Map(problems.map(({ offset, message }) => [offset, message]));
  const checker = new CheckerHints(checked);
  for (const node of checked.nodes()) {
    const message = messages.get(node.offset);
    if (message !== undefined) add(checker.hint(node, message));
    if (node.kind === "call" && node.name === "_-_") add(checker.dashHint(node.args, messages));
  }
  return [...hints];
}

function syntaxHint(source: Source, offset: number): string | undefined {
  if (offset < 0) return undefined;
  const rest = source.points.slice(offset, offset + 8).join("");
  if (/^[“”„‟‘’‚‛]/.test(rest)) return `strings are written in straight quotes: ' or "`;
  const before = source.points.slice(Math.max(0, offset - 8), offset).join("");
  if (/(^|\W)not\s+$/.test(before)) return "write `!` for `not`";
  const sign = /^(={1,3}|&|\||<>)/.exec(rest)?.[0] ?? /^(and|or|not)\b/i.exec(rest)?.[0] ?? "";
  const whole = /[=!]=$/.test(before) && sign.startsWith("=") ? before.slice(-2) + sign[0] : sign;
  const instead = rest.startsWith(">") && before.endsWith("<") ? "!=" : foreignOperators[whole.toLowerCase()];
  if (instead === undefined) return undefined;
  return `write \`${instead}\` for \`${instead === "!=" && whole === "" ? "<>" : whole}\``;
}

const comparisons: ReadonlySet<string> = new Set(["_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"]);
const deviceFields = ["driver", "attributes", "capacity", "allowMultipleAllocations"];
const primitives: ReadonlySet<string> = new Set(["int", "uint", "double", "string"]);
const methods: ReadonlySet<string> = new Set(["isGreaterThan", "isLessThan", "compareTo", "add", "sub"]);

/** Hints about a node at which the checker reported a problem. */
class CheckerHints {
  readonly #checked: CheckedExpression;

  constructor(checked: CheckedExpression) {
    this.#checked = checked;
  }

  hint(node: Expr, message: string): string | undefined {
    if (node.kind === "identifier") return undeclaredHint(node.name, message);
    if (node.kind === "select") return this.#fieldHint(node, message);
    if (node.kind !== "call") return undefined;
    if (message.startsWith("undeclared reference to 'includes'")) {
      return "`includes` needs the feature gate DRAListTypeAttributes";
    }
    const operands = this.#checked.operandsOf(node);
    const domain = operands
      .map((operand) => wholeDomainHint(this.#checked, operand))
      .find((hint) => hint !== undefined);
    if (domain !== undefined) return domain;
    const { name } = this.#checked.referenceOf(node);
    return comparisons.has(name) ? this.#comparisonHint(operands) : this.#argumentHint(name, operands);
  }

  /** `device.attributes["d"].vram-gb` */
  dashHint([left, right]: readonly Expr[], messages: ReadonlyMap<number, string>): string | undefined {
    if (left?.kind !== "select" || right?.kind !== "identifier" || !messages.has(right.offset))
      return undefined;
    const access = domainAccess(this.#checked, left.operand);
    if (access?.domain === undefined) return undefined;
    const path = attributePath(access.map, access.domain, `${left.field}-${right.name}`);
    return `a name with a dash needs brackets: write \`${path}\``;
  }

  #fieldHint(node: Select, message: string): string | undefined {
    const type = this.#checked.typeOf(node.operand);
    if (type?.name === "kubernetes.Quantity") {
      return "a quantity has methods and no fields: `compareTo(…)`, `isGreaterThan(…)`, `asInteger()`";
    }
    if (type?.name !== "kubernetes.DRADevice" || !message.startsWith("undefined field")) return undefined;
    if (node.field === "allowMultipleAllocations") {
      return "`device.allowMultipleAllocations` needs the feature gate DRAConsumableCapacity";
    }
    const similar = deviceFields.find((field) => resembles(field, node.field));
    if (similar !== undefined) return `write \`device.${similar}\``;
    return `attributes are found by their domain first: \`device.attributes["DOMAIN"].${node.field}\`, capacities likewise`;
  }

  #comparisonHint(operands: readonly Expr[]): string | undefined {
    const [left, right] = operands.map((operand) => this.#checked.typeOf(operand));
    if (left === undefined || right === undefined) return undefined;
    for (const [kind, make, type, other] of [
      ["a quantity", "quantity", left, right],
      ["a quantity", "quantity", right, left],
      ["a version", "semver", left, right],
      ["a version", "semver", right, left],
    ] as const) {
      if (type.name !== `kubernetes.${make === "semver" ? "Semver" : "Quantity"}`) continue;
      const example = make === "semver" ? "1.2.3" : "40Gi";
      const value = literalText(operands[type === left ? 1 : 0], other) ?? example;
      return `${kind} is compared by methods: \`x.compareTo(${make}("${value}")) >= 0\`, \`x.isGreaterThan(${make}("${value}"))\``;
    }
    if (primitives.has(left.kind) && primitives.has(right.kind) && left.kind !== right.kind) {
      return `\`==\` and \`!=\` need the same type on both sides: convert one, as in \`${left.kind}(…)\``;
    }
    return undefined;
  }

  #argumentHint(name: string, [receiver, argument]: readonly Expr[]): string | undefined {
    const type = receiver === undefined ? undefined : this.#checked.typeOf(receiver)?.name;
    if (name === "sign" && type === "kubernetes.Quantity")
      return "`sign` is a function, not a method: write `sign(x)`";
    if (argument === undefined) return undefined;
    const argumentType = this.#checked.typeOf(argument);
    if (!methods.has(name) || argumentType === undefined || !primitives.has(argumentType.kind))
      return undefined;
    const make =
      type === "kubernetes.Semver" ? "semver" : type === "kubernetes.Quantity" ? "quantity" : undefined;
    if (make === undefined) return undefined;
    const value = literalText(argument, argumentType);
    return `\`${name}\` takes a ${make}: write \`${make}(${value === undefined ? text(argument) : JSON.stringify(value)})\``;
  }
}

function undeclaredHint(name: string, message: string): string | undefined {
  if (!message.startsWith("undeclared reference")) return undefined;
  return deviceFields.includes(name) ? `write \`device.${name}\`` : undefined;
}

const resembles = (a: string, b: string): boolean =>
  a.toLowerCase().startsWith(b.toLowerCase().slice(0, 5)) || isSimilar(a, b);

/** The expression is a whole map or domain where one attribute is needed. */
function wholeDomainHint(checked: CheckedExpression, expr: Expr): string | undefined {
  const map = domainMap(checked, expr);
  if (map !== undefined) {
    return `\`device.${map}\` holds all domains: write \`device.${map}["DOMAIN"].NAME\``;
  }
  const access = domainAccess(checked, expr);
  return access?.domain === undefined ? undefined : domainHint(access.map, access.domain);
}

function domainHint(map: DomainMapName, domain: string): string {
  const slash = domain.indexOf("/");
  if (slash >= 0) {
    const path = attributePath(map, domain.slice(0, slash), domain.slice(slash + 1));
    return `the map is by domain first: write \`${path}\``;
  }
  if (domain.includes("."))
    return `\`${attributePath(map, domain)}\` holds all of a domain: add the name, as in \`${attributePath(map, domain, "NAME")}\``;
  return `the map is by domain first: write \`${attributePath(map, "DOMAIN", domain)}\` (a name without a domain belongs to the driver's domain)`;
}

/** The text of a primitive literal, without quotes. */
function literalText(operand: Expr | undefined, type: CelType): string | undefined {
  if (!primitives.has(type.kind) || operand?.kind !== "literal") return undefined;
  return typeof operand.value === "object" ? undefined : String(operand.value);
}

/** Suggests what was meant by a valid expression whose result is not a bool. */
export function resultHints(checked: CheckedExpression): readonly string[] {
  const { root } = checked;
  const domain = wholeDomainHint(checked, root);
  if (domain !== undefined) return [domain];
  const type = checked.typeOf(root);
  if (type === undefined) return [];
  if (type.name === "kubernetes.Quantity") {
    return [
      `a selector is true or false: compare the quantity, as in \`${text(root)}.isGreaterThan(quantity("40Gi"))\``,
    ];
  }
  if (type.kind === "struct" || type.kind === "list" || type.kind === "map") {
    return [`a selector is true or false, and this is a ${checkerName(type)}`];
  }
  return [`a selector is true or false: compare it, as in \`${text(root)} == …\``];
}
