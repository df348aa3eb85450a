import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  labelSelectorOf,
  matchesNodeSelector,
  matchLabels,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from "../index.ts";

const labels = { app: "web", tier: "front", n: "2" };

describe("label selectors of a query", () => {
  const table: readonly [selector: string, matches: boolean, canonical?: string][] = [
    ["", true],
    ["app=web", true],
    ["app==web,tier!=back", true, "app==web,tier!=back"],
    ["app in (web, db)", true, "app in (db,web)"],
    ["app notin (web)", false],
    ["missing notin (x)", true],
    ["app", true],
    ["!app", false, "!app"],
    ["n>1,n<3", true, "n>1,n<3"],
    ["app>1", false],
    ["app in ()", false],
    ["missing=", false],
    ["in in (in)", false],
    ["constructor", false],
  ];
  for (const [selector, matches, canonical] of table) {
    test(selector || "(empty)", () => {
      const selection = parseLabelSelector(selector);
      assert.equal(selection.matches(labels), matches);
      if (canonical !== undefined) assert.equal(selection.toString(), canonical);
    });
  }

  // Recorded of kube-apiserver 1.36 (lists.labels).
  const errors: readonly [selector: string, message: string][] = [
    [",", "found ',', expected: !, identifier, or 'end of string'"],
    ["n=1,,odd=1", "found ',', expected: identifier after ','"],
    ["bad key!", "unable to parse requirement: found 'key', expected: in, notin, =, ==, !=, gt, lt"],
    ["n=bad value!", "found 'value', expected: ',' or 'end of string'"],
    ["n in 1", "unable to parse requirement: found '1' expected: '('"],
    ["=x", "found '=', expected: !, identifier, or 'end of string'"],
    ["n=1=2", "found '=', expected: ',' or 'end of string'"],
  ];
  for (const [selector, message] of errors) {
    test(`refuses ${selector}`, () => {
      assert.throws(() => parseLabelSelector(selector), { name: "SelectorError", message });
    });
  }
  test("rejects a key with two slashes and an invalid value", () => {
    assert.throws(
      () => parseLabelSelector("a/b/c=1"),
      /^SelectorError: unable to parse requirement: <nil>: Invalid value: "a\/b\/c"/,
    );
    assert.throws(() => parseLabelSelector("a=-b"), /values\[0\]\[a\]: Invalid value: "-b"/);
    assert.throws(() => parseLabelSelector("a>b"), /the value must be an integer/);
  });
});

describe("label selectors of objects", () => {
  test("an absent selector selects nothing, an empty one everything", () => {
    assert.equal(labelSelectorOf(undefined).matches(labels), false);
    assert.equal(labelSelectorOf({}).matches(labels), true);
  });
  test("pairs and expressions all hold", () => {
    const matchExpressions = [{ key: "tier", operator: "In", values: ["front"] }];
    const selector = labelSelectorOf({ matchLabels: { app: "web" }, matchExpressions });
    assert.equal(selector.matches(labels), true);
    assert.equal(selector.matches({ app: "web" }), false);
  });
  test("an unknown operator is an error", () => {
    assert.throws(() => labelSelectorOf({ matchExpressions: [{ key: "a", operator: "Gt" }] }), SelectorError);
  });
  test("a plain map of labels", () => {
    assert.equal(matchLabels({ app: "web" }, labels), true);
    assert.equal(matchLabels({ toString: "x" }, {}), false);
    assert.equal(matchLabels({}, undefined), true);
  });
});

describe("field selectors", () => {
  test("compares texts, with escapes", () => {
    const selector = parseFieldSelector("metadata.name=a\\,b,status.phase!=Failed");
    const fields: Record<string, string> = { "metadata.name": "a,b", "status.phase": "Running" };
    assert.equal(
      selector.matches((field) => fields[field] ?? ""),
      true,
    );
    assert.equal(selector.exact("metadata.name"), "a,b");
    assert.equal(selector.toString(), "metadata.name=a\\,b,status.phase!=Failed");
    assert.equal(
      selector.matches(() => ""),
      false,
    );
  });
  test("rejects a malformed field selector", () => {
    assert.throws(() => parseFieldSelector("metadata.name"), {
      message: "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
    });
    assert.throws(() => parseFieldSelector("metadata.name=a=b"), {
      message: "invalid field selector: unescaped character in value: 61",
    });
    assert.throws(() => parseFieldSelector("a=\\x"), {
      message: "invalid field selector: invalid escape sequence: \\x",
    });
  });
});

test("a missing label does not exist, also if JavaScript objects have a member of its name", () => {
  const metadata = { name: "n", labels: { zone: "a" }, uid: "", resourceVersion: "", creationTimestamp: "" };
  const node = { metadata };
  const asks = (key: string): boolean =>
    matchesNodeSelector({ nodeSelectorTerms: [{ matchExpressions: [{ key, operator: "Exists" }] }] }, node);
  assert.deepEqual(["zone", "constructor", "toString"].map(asks), [true, false, false]);
});
