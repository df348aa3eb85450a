import type { Case, Difference } from "./format.ts";

/** Whether a difference is of a kind that `known-differences.yaml` allows by this name, wherever it occurs. */
type Rule = (question: Case, difference: Difference) => boolean;

export const rules: Readonly<Record<string, Rule>> = {
  /** The expression makes a message, and we say that we do not know its type. */
  "protobuf-message": ({ question }, { actual }) =>
    /google\.protobuf\.\w+\s*\{/.test(question) &&
    /(undeclared reference to|ERROR: .*:) 'google\.protobuf\.\w+'/.test(actual),
  /** The text breaks off inside a call, and both find a syntax error, at another place. */
  "syntax-recovery": ({ question }, { kind, actual }) =>
    kind === "syntax error" && actual !== "" && openBrackets(question) && /\w\(/.test(question),
  /** Estimates past 2^53, of which upstream computes parts as floating-point numbers. */
  "estimate-past-2-53": (_, { where, expected, actual }) =>
    where === "maxCost" &&
    Number(expected) > Number.MAX_SAFE_INTEGER &&
    Math.abs(Number(expected) - Number(actual)) <= Number(expected) * 2 ** -50,
};

/** Whether brackets are opened that are never closed, leaving out what stands in plain quotes. */
function openBrackets(text: string): boolean {
  const code = text.replace(/"[^"]*"|'[^']*'/g, "");
  return code.split(/[([{]/).length > code.split(/[)\]}]/).length;
}
