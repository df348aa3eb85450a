import type { Case, Difference } from "./format.ts";

/**
 * Whether a difference is of a kind that `known-differences.yaml` allows by this name, wherever it occurs.
 */
type Rule = (question: Case, difference: Difference) => boolean;

export const rules: Readonly<Record<string, Rule>> = {
  /** The expression makes a message, and we say that we do not know its type. */
  "protobuf-message": ({ question }, { actual }) =>
    /google\.protobuf\.\w+\s*\{/.test(question) &&
    /(undeclared reference to|ERROR: .*:) 'google\.protobuf\.\w+'/.test(actual),
  /** Both reject a text with a macro, but the first error is at another place. */
  "syntax-recovery": ({ question }, { kind, actual }) =>
    kind === "syntax error" && actual !== "" && macro.test(question),
  /**
   * Both refuse an expression with the same first mistake at the same place; what else ANTLR finds after it
   * differs.
   */
  "parser-recovery": (_, { kind, expected, actual }) =>
    kind === "body" &&
    expected.includes("Syntax error: ") &&
    firstMistakes(expected) === firstMistakes(actual),
  /** The error names the type of a list in Go. */
  "go-list-type": (_, { expected, actual }) =>
    expected.includes("*types.concatList") && expected.replace("concatList", "baseList") === actual,
  /** Estimates past 2^53, of which upstream computes parts as floating-point numbers. */
  "estimate-past-2-53": (_, { where, expected, actual }) =>
    where === "maxCost" &&
    Number(expected) > Number.MAX_SAFE_INTEGER &&
    Math.abs(Number(expected) - Number(actual)) <= Number(expected) * 2 ** -50,
  /** A key of the store that ends in "." or "..": 400 instead of 500, and the reason that goes with it. */
  "namespace-of-dots": (_, { kind, expected, actual }) =>
    kind === "status"
      ? expected === "500" && /^400 .*"message":"invalid key: \\"\/\w+\/\.\.?\\""/.test(actual)
      : kind === "body" &&
        expected.includes('"message":"invalid key: ') &&
        expected.replace('"code":500', '"code":400') === actual.replace('"reason":"BadRequest",', ""),
  /** The warning of 1.38 about a DeviceTaintRule that selects every device, in the releases before it. */
  "empty-device-selector": (_, { kind, expected, actual }) =>
    kind === "warnings" && actual.replace(new RegExp(`,?${emptySelector}`), "") === expected,
};

const emptySelector =
  '"spec\\.deviceSelector: an empty selector matches every device from every driver in the cluster"';

const macro =
  /(has|cel\.bind|\.(all|exists|exists_one|existsOne|filter|map|sortBy|transform\w+|optMap|optFlatMap))\s*\(/;

/**
 * An answer with the first syntax error of each expression alone, without what could have stood there
 * instead.
 */
function firstMistakes(answer: string): string {
  return answer.replace(syntaxErrors, (_, first: string) => first.replace(/ expecting .*/, ""));
}

/**
 * The text of the first mistake, and all that follows about the same expression. Line ends are escaped: it is
 * JSON.
 */
const syntaxErrors =
  /(ERROR: <input>:\d+:\d+: Syntax error: .*?)\\n \| .*?\\n \| \.*\^(\\nERROR: <input>:.*?\\n \| .*?\\n \| \.*\^)*/g;
