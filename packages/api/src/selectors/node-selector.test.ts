import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Node, NodeSelector, NodeSelectorTerm, PreferredSchedulingTerm } from "../generated/core/v1.ts";
import { matchesNode, matchesNodeSelector, NodeSelectorError, readNodePreferences } from "../index.ts";

interface Recorded {
  readonly selector: NodeSelector;
  readonly preferences: readonly PreferredSchedulingTerm[];
  readonly node: Node;
  readonly match?: boolean;
  readonly error?: string;
  readonly lazy: boolean;
  readonly score?: number;
  readonly prefError?: string;
}

function outcome<T>(compute: () => T): T | string {
  try {
    return compute();
  } catch (error) {
    assert.ok(error instanceof NodeSelectorError);
    return error.message;
  }
}

const required = (selector: NodeSelector) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: selector } },
});

test("random selectors match as k8s.io/component-helpers/scheduling/corev1/nodeaffinity has it, errors included", () => {
  const file = new URL("testdata/node-selectors.jsonl", import.meta.url);
  for (const line of readFileSync(file, "utf8").trim().split("\n")) {
    const { selector, preferences, node, match, error, lazy, score, prefError } = JSON.parse(
      line,
    ) as Recorded;
    assert.equal(
      outcome(() => matchesNodeSelector(selector, node)),
      match ?? error,
      line,
    );
    assert.equal(matchesNode(required(selector), node), lazy, line);
    assert.equal(
      outcome(() => readNodePreferences(preferences)(node)),
      score ?? prefError,
      line,
    );
  }
});

const nodeWith = (labels: Record<string, string>): Node =>
  ({ metadata: { name: "n1", labels } }) as unknown as Node;
const cores = (operator: string, value: string): NodeSelectorTerm => ({
  matchExpressions: [{ key: "cores", operator, values: [value] }],
});

test("Gt and Lt compare integers of 64 bits; any other label does not match", () => {
  const table: [label: string, operator: string, value: string, match: boolean][] = [
    ["8", "Gt", "4", true],
    ["8", "Gt", "8", false],
    ["8", "Lt", "9", true],
    ["+8", "Lt", "9", true],
    ["-8", "Lt", "0", true],
    ["9223372036854775807", "Gt", "9223372036854775806", true],
    // Beyond 64 bits, no number at all, numbers of other notations.
    ["9223372036854775808", "Gt", "1", false],
    ["many", "Gt", "1", false],
    ["", "Lt", "1", false],
    ["8.0", "Gt", "1", false],
    ["0x10", "Gt", "1", false],
    ["1_0", "Gt", "1", false],
  ];
  for (const [label, operator, value, match] of table) {
    const selector = { nodeSelectorTerms: [cores(operator, value)] };
    assert.equal(
      matchesNodeSelector(selector, nodeWith({ cores: label })),
      match,
      `${label} ${operator} ${value}`,
    );
  }
});

test("a malformed term is an error for slices; for pods it matches nothing and the other terms count", () => {
  const selector = { nodeSelectorTerms: [cores("Gt", "many"), cores("Gt", "4")] };
  assert.throws(() => matchesNodeSelector(selector, nodeWith({ cores: "8" })), {
    name: "NodeSelectorError",
    message:
      "nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: \"many\": for 'Gt', 'Lt' operators, the value must be an integer",
  });
  assert.equal(matchesNode(required(selector), nodeWith({ cores: "8" })), true);
  assert.equal(matchesNode(required(selector), nodeWith({ cores: "2" })), false);
});
