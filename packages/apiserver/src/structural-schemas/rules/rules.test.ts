import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@dray/api";
import { FieldErrors } from "@dray/api/validation";
import { Correlation } from "../correlation.ts";
import type { Plain, Schema } from "../schema.ts";
import { RuleSet } from "./evaluate.ts";

const rule = (text: string, more: object = {}): object => ({ rule: text, ...more });

/** Returns the errors of a new object, or of an update. */
function refused(schema: Schema, value: Plain, old?: Plain): string[] {
  const errors = new FieldErrors({ release: "1.36" });
  const correlation = old === undefined ? undefined : new Correlation(value, old, schema);
  new RuleSet(schema, false).check(errors, value, { old, correlation });
  return errors.list.map((error) => fieldErrorText(error));
}

function object(properties: Record<string, object>, ...rules: object[]): Schema {
  return { type: "object", properties, "x-kubernetes-validations": rules } as Schema;
}

test("rules access fields, items and entries by their types", () => {
  const schema = object(
    {
      list: { type: "array", items: { type: "integer", "x-kubernetes-validations": [rule("self < 3")] } },
      map: { type: "object", additionalProperties: { type: "string" } },
      "a-b": { type: "string" },
      port: { "x-kubernetes-int-or-string": true },
      since: { type: "string", format: "date" },
    },
    rule("!has(self.map) || self.map.all(k, self.map[k] != '')"),
    rule("!has(self.a__dash__b) || self.a__dash__b == 'x'"),
    rule("!has(self.port) || (type(self.port) == int ? self.port > 0 : self.port != '')"),
    rule("!has(self.since) || self.since.getFullYear() > 2000"),
  );
  assert.deepEqual(refused(schema, { list: [1, 5], map: { k: "v" }, "a-b": "x", port: "p" }), [
    "list[1]: Invalid value: 5: failed rule: self < 3",
  ]);
  const wrong = { map: { k: "" }, "a-b": "y", port: 0, since: "1999-01-01" };
  assert.equal(refused(schema, wrong).length, 4);
});

test("messages, reasons and paths are those of the rule", () => {
  const schema = object(
    { a: { type: "string" } },
    rule("self.a == 'x'", {
      messageExpression: "'got ' + self.a",
      fieldPath: ".a",
      reason: "FieldValueForbidden",
    }),
    rule("self.a.size() / 0 == 1"),
  );
  assert.deepEqual(refused(schema, { a: "y" }), [
    "a: Forbidden: got y",
    '<nil>: Invalid value: "object": division by zero evaluating rule: self.a.size() / 0 == 1',
  ]);
});

test("transition rules apply only to updates", () => {
  const schema = object({ n: { type: "integer", "x-kubernetes-validations": [rule("self >= oldSelf")] } });
  assert.deepEqual(refused(schema, { n: 1 }), []);
  assert.deepEqual(refused(schema, { n: 2 }, { n: 1 }), []);
  assert.deepEqual(refused(schema, { n: 1 }, { n: 2 }), [
    "n: Invalid value: 1: failed rule: self >= oldSelf",
  ]);
});

test("violations of unchanged values are only warnings", () => {
  const limited = { type: "string", "x-kubernetes-validations": [rule("self.size() < 3")] };
  const schema = object({ a: limited, b: { type: "string" } });
  const errors = new FieldErrors({ release: "1.36" });
  const warnings: string[] = [];
  const [value, old] = [
    { a: "long", b: "y" },
    { a: "long", b: "x" },
  ];
  const correlation = new Correlation(value, old, schema);
  new RuleSet(schema, false).check(errors, value, { old, correlation, warnings });
  assert.deepEqual(errors.list, []);
  assert.deepEqual(warnings, ['a: Invalid value: "long": failed rule: self.size() < 3']);
});

test("the total cost of the rules of one object is limited", () => {
  const schema = object(
    { list: { type: "array", items: { type: "integer" } } },
    rule("self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))"),
  );
  const list = Array.from({ length: 200 }, () => 1);
  assert.match(refused(schema, { list }).join(), /operation cancelled: actual cost limit exceeded/);
});

test("a list of values in a schema may be as long as a body allows", () => {
  const values = Array.from({ length: 200_000 }, (_, i) => String(i));
  const schema = object({ a: { type: "string", enum: values } }, rule("self.a == 'x'"));
  assert.deepEqual(refused(schema, { a: "7" }), ["<nil>: Invalid value: failed rule: self.a == 'x'"]);
});

/** The words of the lexer that are not tokens: names of fields, but not of variables. */
const reservedWords =
  "as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  );

// Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/compilation_test.go, "invalid for escaping"
test("names fields that are reserved words as they are, and escaped", () => {
  for (const word of reservedWords) {
    const escaped = `__${word}__`;
    const schema = object(
      { [word]: { type: "string" }, inner: object({ [word]: { type: "integer" } }) },
      rule(`has(self.${word}) && self.${word} == 'x' && self.${escaped} == self.${word}`),
      rule(`self.?${word}.orValue('') == 'x' && self.inner.${word} + self.inner.${escaped} == 2`),
      rule(`[self].all(each, each.${word} == 'x') && self.${word}.size() == 1`),
      rule(`dyn(self)['${word}'] == 'x' && dyn(self).${escaped} == 'x'`),
      rule(`dyn(self).exists(name, name == '${escaped}')`),
      rule(`self.${word} == oldSelf.${word} && oldSelf.?${word}.hasValue()`),
    );
    const value = { [word]: "x", inner: { [word]: 1 } };
    assert.deepEqual(refused(schema, value, value), [], word);
    assert.deepEqual(
      refused(object({ [word]: { type: "string" } }, rule(`self.${word} == 'x'`)), { [word]: "y" }),
      [`<nil>: Invalid value: failed rule: self.${word} == 'x'`],
    );
  }
});

test("rejects reserved words that are not fields, and as names of variables", () => {
  const errorsOf = (text: string): string[] =>
    refused(object({ other: { type: "string" } }, rule(text)), { other: "x" });
  assert.match(errorsOf("has(self.namespace)").join(), /undefined field 'namespace'/);
  assert.match(errorsOf("namespace == 'x'").join(), /reserved identifier: namespace/);
  assert.match(errorsOf("[1].all(for, for > 0)").join(), /reserved identifier: for/);
  assert.match(errorsOf("self.true == 'x'").join(), /Syntax error/);
});

test("a property that has the escaped name of a reserved word is another one", () => {
  const schema = object(
    { if: { type: "integer" }, __if__: { type: "integer" } },
    rule("self.if == 1 && self.__if__ == 1"),
    rule("self.__underscores__if__underscores__ == 2"),
  );
  assert.deepEqual(refused(schema, { if: 1, __if__: 2 }), []);
});
