import assert from "node:assert/strict";
import { test } from "node:test";
import { deviceEnvironment } from "@dray/cel";
import { testOutcomes } from "../../testing/outcomes.ts";

testOutcomes([
  ['"a100-sxm".matches("^a[0-9]+")', true],
  ['"h100".matches("^a[0-9]+")', false],
  ['matches("abc", "b")', true],
  ['"a100-80GB".find("[0-9]+GB") == "80GB"', true],
  ['"abc".find("x") == ""', true],
  ['"xabcd".find("ab|abcd") == "ab"', true],
  ['"aaa".find("a+?") == "a"', true],
  ['"foo bar".findAll("[a-z]+") == ["foo", "bar"]', true],
  ['"foo bar".findAll("[a-z]+", 1) == ["foo"]', true],
  ['"foo bar".findAll("[a-z]+", 0) == []', true],
  ['"abc".findAll("x*") == ["", "", "", ""]', true],
  ['"baab".findAll("a*") == ["", "aa", ""]', true],
  ['"😀a😀".findAll(".") == ["😀", "a", "😀"]', true],
  ['"a\\nb".findAll("(?m)^.$") == ["a", "b"]', true],
  ['"foo bar".findAll("\\\\b[a-z]") == ["f", "b"]', true],
  ['"ab".matches("(?P<n>a)(?P<n>b)")', true],
  ['"a".matches("(")', "compilation failed: ERROR: <input>:1:13: invalid matches argument"],
  ['"a".find("(") == ""', "program instantiation failed: error parsing regexp: missing closing ): `(`"],
  [
    '"a".find(string("a**")) == ""',
    "program instantiation failed: error parsing regexp: invalid nested repetition operator: `**`",
  ],
  ['"a".find("(" + "") == ""', "Illegal regex: error parsing regexp: missing closing ): `(`"],
  ['"a".matches("[z-a" + "]")', "error parsing regexp: invalid character class range: `z-a`"],
  [
    '"a".find("\\\\") == ""',
    "program instantiation failed: error parsing regexp: trailing backslash at end of expression: ``",
  ],
  ['dyn(1).matches("a")', "no such overload"],
  ['dyn(1).matches("a" + "")', "no such overload: matches"],
  ['dyn(1).find("a") == ""', "no such overload"],
  ['dyn(1).find("a" + "") == ""', "no such overload: find(int, string)"],
  ['("a" + "a" + "a").matches("^(a*)*b")', false],
]);

// Upstream is bounded only by its timeout.
test("a pattern that looks at the whole of a long text for each match is cancelled", () => {
  const selector = deviceEnvironment({ stored: true }).compile(
    'lists.range(3000).map(x, "a").join().findAll("a*b|a").size() == 1',
  );
  assert.ok(selector.ok);
  assert.match(selector.evaluate({ driver: "d" }).error ?? "", /^findAll: /);
});

// Upstream takes as long, on a processor of its own: CEL's cost counts the characters of a pattern only.
test("a pattern of a large program on a long text ends the evaluation", () => {
  const error = (call: string): string | undefined => {
    const selector = deviceEnvironment({ stored: true }).compile(
      `("${"a".repeat(8000)}" + device.driver).${call}`,
    );
    assert.ok(selector.ok);
    return selector.evaluate({ driver: "d" }).error;
  };
  const large = '"(?:a?){1000}a{1000}$"';
  for (const call of [`matches(${large})`, `find(${large}) == ""`, `findAll(${large}) == []`])
    assert.match(error(call) ?? "", /too much work for regular expressions on long texts/, call);
  assert.equal(error('matches("^(a*)*d$")'), undefined);
});
