import assert from "node:assert/strict";
import { test } from "node:test";
import { columns } from "./columns.ts";

test("a table of any length is aligned", () => {
  const rows = [["NAME", "STATUS"], ...Array.from({ length: 200_000 }, (_, i) => [`pod-${i}`, "Running"])];
  const text = columns(rows);
  assert.ok(text.startsWith("NAME         STATUS\npod-0        Running\n"));
  assert.ok(text.endsWith("pod-199999   Running\n"));
});
