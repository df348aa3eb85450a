import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceEnvironment } from "@dray/cel";

/**
 * An expression and its value, the text of its run-time error, or the first line of its compile error; and
 * the cost of its evaluation, where the case is about it.
 */
export type Outcome = readonly [expression: string, outcome: boolean | string, cost?: number];

const environment = deviceEnvironment({ stored: true });
const hint = /\. consider using CEL optional chaining.*$/;

function outcome(expression: string): { readonly result: boolean | string; readonly cost?: number } {
  const selector = environment.compile(expression);
  if (!selector.ok) return { result: selector.error.split("\n")[0]! };
  const { matches, error, cost } = selector.evaluate({ driver: "dra.example.com" });
  return { result: matches ?? error.replace(hint, ""), cost };
}

/**
 * Defines one test for each expression. Outcomes and costs are those of k8s.io/dynamic-resource-allocation
 * 0.37.2, except for functions that upstream lacks.
 */
export function testOutcomes(outcomes: readonly Outcome[]): void {
  for (const [expression, expected, expectedCost] of outcomes) {
    test(expression, () => {
      const { result, cost } = outcome(expression);
      assert.equal(result, expected);
      if (expectedCost !== undefined) assert.equal(cost, expectedCost);
    });
  }
}
