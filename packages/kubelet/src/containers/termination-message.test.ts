import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { LogReader } from "../runtime/host/logs.ts";
import { terminationMessage } from "./termination-message.ts";

const folder = temporaryFolder({ after });

test("a termination message is the last 4096 bytes, and the file stays as it is", () => {
  const path = join(folder, "long");
  writeFileSync(path, `${"a".repeat(4096)}${"b".repeat(4096)}`);
  assert.equal(terminationMessage(path), "b".repeat(4096));
  assert.equal(readFileSync(path).length, 8192);
  assert.equal(terminationMessage(join(folder, "missing")), "");
});

test("no link is followed and no pipe waited for, in messages and in logs", () => {
  const secret = join(folder, "secret");
  const text = `secret\n${"x".repeat(5000)}`;
  writeFileSync(secret, text);
  const link = join(folder, "link");
  const pipe = join(folder, "pipe");
  symlinkSync(secret, link);
  execFileSync("mkfifo", [pipe]);
  assert.match(terminationMessage(link), /^Error on reading termination log .*\/link: ELOOP/);
  assert.match(terminationMessage(pipe), /^Error on reading termination log .*\/pipe is not a regular file$/);
  assert.equal(readFileSync(secret, "utf8"), text);
  assert.throws(() => new LogReader(link, Date.now), /ELOOP/);
  assert.throws(() => new LogReader(pipe, Date.now), /is not a regular file/);
});
