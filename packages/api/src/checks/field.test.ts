import assert from "node:assert/strict";
import { test } from "node:test";
import { invalid, maxErrorText } from "../errors/invalid.ts";
import { FieldErrors } from "./field.ts";

const kind = { group: "example.com", kind: "Thing" };

test("errors beyond the limit are dropped, and those before it are as they were", () => {
  const supported = Array.from({ length: 1000 }, (_, index) => `e${index}`);
  const errors = new FieldErrors({ release: "1.36" });
  for (let index = 0; index < 20_000; index++)
    errors.at("spec.list").index(index).notSupported("x", supported);
  const text = errors.list.reduce((sum, { detail }) => sum + detail.length, 0);
  assert.ok(text < maxErrorText + 20_000, `${text} characters`);
  assert.ok(errors.list.length > 50, `${errors.list.length} errors`);
  const { details } = invalid(kind, "a", errors.list).status;
  assert.equal(details?.causes?.[0]?.field, "spec.list[0]");
  assert.match(
    details?.causes?.[0]?.message ?? "",
    /^Unsupported value: "x": supported values: "e0", "e1", /,
  );
});

test("errors of another validation count towards the limit, unless they are removed", () => {
  const many = Array.from({ length: 40 }, (_, index) => ({
    type: "Invalid" as const,
    path: `spec.a[${index}]`,
    detail: "x".repeat(100_000),
  }));
  const errors = new FieldErrors({ release: "1.36" });
  errors.at("spec").addAll(many);
  assert.deepEqual(errors.list, many.slice(0, 11));
  errors.at("spec").required();
  assert.equal(errors.list.length, 11);
  errors.clear();
  errors.at("spec").required();
  assert.deepEqual(errors.list, [{ type: "Required", path: "spec", detail: "" }]);
});

test("an answer does not have what several lists of errors have together", () => {
  const list = Array.from({ length: 40 }, (_, index) => ({
    type: "Invalid" as const,
    path: `spec.a[${index}]`,
    detail: "x".repeat(100_000),
  }));
  const { status } = invalid(kind, "a", list);
  assert.equal(status.details?.causes?.length, 11);
  assert.ok((status.message ?? "").length < 1.2 * maxErrorText);
});
