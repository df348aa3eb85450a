import { dns1035Label, dnsLabel, dnsSubdomain, isLabelValue, type NameRule, qualifiedName } from "@dray/api";
import { calendarDay } from "../values/time.ts";
import { listType, optionalType, stringType, structType } from "../values/types.ts";
import { costSize, LibraryValue, Optional, type Value } from "../values/value.ts";
import { fromBytes, toBytes } from "./byte-text.ts";
import * as charges from "./costs/charges.ts";
import type { Cost } from "./costs/cost.ts";
import { maxAt, stringCost } from "./costs/estimates.ts";
import { scaled } from "./costs/size-estimate.ts";
import { declare, type FunctionDeclaration, method, overload, priced } from "./declarations.ts";
import { urlProblem } from "./url/parser.ts";

const formatType = structType("kubernetes.NamedFormat");

/** A rule that strings are validated with. */
class FormatValue extends LibraryValue {
  override readonly typeName = "kubernetes.NamedFormat";
  readonly name: string;
  readonly rule: NameRule;
  /** The length of the equivalent pattern, for the cost of a validation. */
  readonly patternSize: number;
  constructor(name: string, rule: NameRule, patternSize: number) {
    super();
    this.name = name;
    this.rule = rule;
    this.patternSize = patternSize;
  }
  override equals(other: FormatValue): boolean {
    return other.name === this.name;
  }
}

/**
 * The prefix of a name may end in a dash. Upstream replaces the dash and the byte before it by one letter.
 */
const prefixOf =
  (rule: NameRule): NameRule =>
  (value) => {
    const bytes = toBytes(value);
    return rule(bytes.length > 1 && value.endsWith("-") ? `${fromBytes(bytes.slice(0, -2))}a` : value);
  };

const matching =
  (problem: string, holds: (value: string) => boolean): NameRule =>
  (value) =>
    holds(value) ? [] : [problem];

const uri: NameRule = (value) => {
  const problem = urlProblem(value);
  return problem === undefined ? [] : [problem];
};

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const time = /^([0-9]{2}):([0-9]{2}):([0-9]{2})([^\n][0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$/;

function isDate(value: string): boolean {
  const match = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(value);
  return match !== null && calendarDay(Number(match[1]), Number(match[2]), Number(match[3])) !== undefined;
}

function isDateTime(value: string): boolean {
  const [date = "", clock = ""] = value.toLowerCase().split("t");
  const match = time.exec(clock);
  return isDate(date) && match !== null && match[1]! <= "23" && match[2]! <= "59" && match[3]! <= "59";
}

const formats: ReadonlyMap<string, FormatValue> = new Map(
  (
    [
      ["dns1123Label", "DNS1123Label", dnsLabel, 30],
      ["dns1123Subdomain", "DNS1123Subdomain", dnsSubdomain, 60],
      ["dns1035Label", "DNS1035Label", dns1035Label, 30],
      ["qualifiedName", "QualifiedName", qualifiedName, 60],
      ["dns1123LabelPrefix", "DNS1123LabelPrefix", prefixOf(dnsLabel), 30],
      ["dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", prefixOf(dnsSubdomain), 60],
      ["dns1035LabelPrefix", "DNS1035LabelPrefix", prefixOf(dns1035Label), 30],
      ["labelValue", "LabelValue", isLabelValue, 40],
      ["uri", "URI", uri, 1103],
      ["uuid", "uuid", matching("does not match the UUID format", (value) => uuid.test(value)), 70],
      ["byte", "byte", matching("invalid base64", (value) => base64.test(value)), 84],
      ["date", "date", matching("invalid date", isDate), 71],
      ["datetime", "datetime", matching("invalid datetime", isDateTime), 71],
    ] as const
  ).map(([name, title, rule, size]) => [name, new FormatValue(title, rule, size)]),
);

function validate(format: Value, text: Value): Value {
  const problems = (format as FormatValue).rule(text as string);
  return problems.length === 0 ? Optional.none : new Optional(problems);
}

const validateCost: Cost = {
  estimate: (operands) => ({ cost: scaled(stringCost(maxAt(operands, 1)), 32) }),
  charge: charges.byValues((format, text) => {
    if (!(format instanceof FormatValue)) return 1;
    return charges.stringCost(1 + costSize(text)) * charges.patternCost(format.patternSize);
  }),
};

/** Named formats (Kubernetes CEL library of 1.31). */
export const formatsLibrary: readonly FunctionDeclaration[] = [
  declare("validate", [
    priced(
      validateCost,
      method("format-validate", [formatType, stringType], optionalType(listType(stringType)), validate),
    ),
  ]),
  declare("format.named", [
    overload("format-named", [stringType], optionalType(formatType), (a) => {
      const format = formats.get(a as string);
      return format === undefined ? Optional.none : new Optional(format);
    }),
  ]),
  ...Array.from(formats, ([name, format]) =>
    declare(`format.${name}`, [overload(`format.${name}`, [], formatType, () => format)]),
  ),
];
