import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { deepFreeze, StatusError } from "@dray/api";
import { createLog } from "./create.ts";

test("a log shows frozen errors of the API, and does not change them", () => {
  const folder = mkdtempSync(join(tmpdir(), "dray-log-"));
  const file = join(folder, "x.log");
  const log = createLog("test", file);
  const status = deepFreeze({
    status: "Failure",
    reason: "NotFound",
    code: 404,
    message: 'pods "p" not found',
    details: { name: "p" },
  });
  log.error({ err: new Error("outer", { cause: new StatusError(status) }) }, "both");
  log.warn({ error: "only a text" }, "text");
  const [first, second] = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(first.err.message, "outer");
  const { type, message, reason, code, details } = first.err.cause;
  assert.deepEqual(
    [type, message, reason, code, details],
    ["StatusError", 'pods "p" not found', "NotFound", 404, { name: "p" }],
  );
  assert.equal(second.error, "only a text");
  rmSync(folder, { recursive: true });
});
