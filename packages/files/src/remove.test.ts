import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { realTime } from "@dray/testing/eventually";
import { temporaryFolder } from "@dray/testing/folder";
import { removeFolder } from "./index.ts";

const shell = (folder: string, script: string): void =>
  void execFileSync("/bin/sh", ["-c", script], { cwd: folder });

for (const count of [10, 3000])
  test(`removes a folder of ${count} files, and follows no link`, async (t) => {
    const folder = temporaryFolder(t);
    const [victim, path] = [join(folder, "victim"), join(folder, "path")];
    for (const made of [victim, join(path, "a/b")]) mkdirSync(made, { recursive: true });
    writeFileSync(join(victim, "file"), "");
    shell(path, `for n in $(seq ${count}); do : > "a/$n"; done`);
    symlinkSync(victim, join(path, "a/link"));
    symlinkSync(victim, join(folder, "link"));
    await removeFolder(path);
    await removeFolder(path);
    await removeFolder(join(folder, "link"));
    assert.deepEqual(readdirSync(folder), ["victim"]);
    assert.deepEqual(readdirSync(victim), ["file"]);
    await removeFolder(join(victim, "file"));
    assert.deepEqual(readdirSync(victim), []);
  });

test("removes folders deeper than a path is long, and names that look like options", async (t) => {
  const folder = temporaryFolder(t);
  const name = "d".repeat(100);
  const script = `for (let n = 0; n < 100; n++) { fs.mkdirSync("${name}"); process.chdir("${name}"); }`;
  execFileSync(process.execPath, ["-e", script], { cwd: folder });
  await removeFolder(join(folder, name));
  mkdirSync(join(folder, "-rf"));
  await removeFolder(join(folder, "-rf"));
  assert.deepEqual(readdirSync(folder), []);
});

test("removes folders that their owner has closed", async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, "path");
  chmodSync(folder, 0o777);
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(nobody);
  try {
    mkdirSync(join(path, "closed/inner"), { recursive: true });
    chmodSync(join(path, "closed"), 0);
    await removeFolder(path);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
  assert.ok(!existsSync(path));
});

const nobody = 65534;

test("removes a folder that another program removes too", async (t) => {
  const folder = temporaryFolder(t);
  for (let round = 0; round < 40; round++) {
    shell(folder, "mkdir -p path/a path/b; for n in $(seq 40); do : > path/a/$n; : > path/b/$n; done");
    const path = join(folder, "path");
    const other = spawn("rm", ["-rf", path], { stdio: "ignore" });
    const ended = once(other, "close");
    // At a different moment of the other one each time.
    await realTime(round / 8, "the other program runs");
    await removeFolder(path);
    assert.ok(!existsSync(path));
    await ended;
  }
});

test("a large folder does not stop the process", async (t) => {
  const path = join(temporaryFolder(t), "path");
  mkdirSync(path);
  shell(path, "seq 1 20000 | xargs touch");
  const before = process.cpuUsage();
  await removeFolder(path);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 100_000, `${user + system} microseconds of processor time`);
  assert.ok(!existsSync(path));
});

test("says what cannot be removed, and why", async () => {
  await assert.rejects(
    removeFolder("/proc/self/fdinfo"),
    /^Error: cannot remove \/proc\/self\/fdinfo: .*Operation not permitted|Permission denied|ermitted/,
  );
});
