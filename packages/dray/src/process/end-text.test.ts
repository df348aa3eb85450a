import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { endText, fullHeapText } from "./end-text.ts";

const folder = temporaryFolder({ after });

test("the end and the last words of a Node whose heap was full say so", async () => {
  const file = join(folder, "up.log");
  const output = openSync(file, "a");
  const program = "const all = []; for (;;) all.push(new Array(1000).fill({}))";
  const child = spawn(process.execPath, ["--max-old-space-size=16", "-e", program], {
    stdio: ["ignore", output, output],
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  closeSync(output);
  const [code, signal] = await once(child, "exit");
  const full = /its heap was full[:;] `NODE_OPTIONS=--max-old-space-size=MEBIBYTES` raises its limit/;
  assert.match(endText({ code, signal }), full);
  assert.ok(child.pid !== undefined);
  assert.match(fullHeapText(file, child.pid) ?? "", full);
  // The last words of another process, earlier in the same file.
  assert.equal(fullHeapText(file, child.pid + 1), undefined);
  assert.equal(fullHeapText(join(folder, "missing"), child.pid), undefined);
});

test("ends without a known reason are only named", () => {
  assert.equal(endText({ code: 1, signal: null }), "exit code 1");
  assert.equal(endText({ code: null, signal: "SIGTERM" }), "signal SIGTERM");
  const short = "(from somebody, or from the system because memory was short)";
  assert.equal(endText({ code: null, signal: "SIGKILL" }), `signal SIGKILL ${short}`);
  assert.equal(endText({ code: 137, signal: null }), `exit code 137 ${short}`);
});
