import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { inspectProgram } from "./program-file.ts";
import { elfProgram } from "./testing.ts";

test("programs are told apart by how they take a library", (t) => {
  const folder = temporaryFolder(t);
  const put = (name: string, contents: string | Buffer): string => {
    writeFileSync(join(folder, name), contents, { mode: 0o755 });
    return join(folder, name);
  };
  const dynamic = put("dynamic", elfProgram({ interpreter: true }));
  const other = put("other", elfProgram({ interpreter: true, note: "GNU\0" }));
  const fixed = put("static", elfProgram({}));
  const go = put("go", elfProgram({ interpreter: true, note: "Go\0\0" }));
  const foreign = put("foreign", elfProgram({ machine: 8 }));
  const scripts = [
    put("by-path", `#!${fixed} -x\n`),
    put("by-env", "#!/usr/bin/env -S A=1 go --flag\n"),
    put("by-script", `#!${join(folder, "by-path")}\n`),
    put("shell", "echo\n"),
  ];
  const loop = put("loop", `#!${join(folder, "loop")}\n`);
  const find = (name: string): string => (name.includes("/") ? name : join(folder, name));
  const kinds = [dynamic, other, fixed, go, foreign, ...scripts].map(
    (path) => inspectProgram(path, find)?.kind,
  );
  assert.deepEqual(kinds, [
    ...["dynamic", "dynamic", "static", "go", "foreign"],
    ...["static", "go", "static", "dynamic"],
  ]);
  assert.equal(inspectProgram("by-path", find)?.path, fixed);
  assert.equal(inspectProgram(loop, find), undefined);
  assert.equal(inspectProgram("missing", find), undefined);
});
