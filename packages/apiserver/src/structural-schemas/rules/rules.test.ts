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
