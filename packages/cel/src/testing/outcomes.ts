import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceEnvironment } from "@dray/cel";

/** An expression and its value, the text of its run-time error, or the first line of its compile error. */
export type Outcome = readonly [expression: string, outcome: boolean | string];

const environment = deviceEnvironment({ stored: true });
const hint = /\. consider using CEL optional chaining.*$/;

function outcome(expression: string): boolean | string {
  const selector = environment.compile(expression);
  if (!selector.ok) return selector.error.split("\n")[0]!;
  const { matches, error } = selector.evaluate({ driver: "dra.example.com" });
  return matches ?? error.replace(hint, "");
}

/**
 * Defines one test for each expression. The outcomes are those of k8s.io/dynamic-resource-allocation 0.37.2.
 */
export function testOutcomes(outcomes: readonly Outcome[]): void {
  for (const [expression, expected] of outcomes) {
    test(expression, () => assert.equal(outcome(expression), expected));
  }
}
