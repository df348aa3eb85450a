import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inFolder } from "../testing/program.ts";

/** Returns the output of a program that the starter of the command runs with this home. */
function startWith(home: string, folder: string) {
  const starter = new URL("../../bin/start.js", import.meta.url).href;
  const program = 'console.log(process.env.NODE_COMPILE_CACHE ?? "none")';
  const script = `
    const { spawnNode } = await import(${JSON.stringify(starter)});
    spawnNode(process.execPath, ["-e", ${JSON.stringify(program)}]);`;
  return spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: home, XDG_CACHE_HOME: "" },
    encoding: "utf8",
    timeout: 60_000,
  });
}

test("the command starts with a cache in the user's home, and without one where none can be made", () =>
  inFolder(async (folder) => {
    const home = join(folder, "new/home");
    const cache = join(home, ".cache/dray/compile-cache");
    assert.equal(startWith(home, folder).stdout, `${cache}\n`);
    assert.equal(statSync(cache).mode & 0o777, 0o700);
    for (const none of [...(process.platform === "linux" ? ["/proc/dray/home"] : []), "/dev/null/home", ""]) {
      const { stdout, signal } = startWith(none, folder);
      assert.deepEqual([stdout, signal], ["none\n", null], none);
    }
    assert.equal(existsSync(join(folder, ".cache")), false);
  }));
