import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { holdsFor } from "@dray/testing/eventually";
import { temporaryFolder } from "@dray/testing/folder";
import { thisProcess } from "../process/process-file.ts";
import { updateKubeconfigFile } from "./kubeconfig-file.ts";

function scratch(t: TestContext): string {
  const folder = temporaryFolder(t);
  return folder;
}

const append = (line: string) => (text: string) => `${text}${line}\n`;

test("a new file is its owner's alone, in folders that are made for it; without a change nothing is written", async (t) => {
  const file = join(scratch(t), "a/b/config");
  assert.equal(await updateKubeconfigFile(file, append("x")), true);
  assert.equal(readFileSync(file, "utf8"), "x\n");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const { ino } = statSync(file);
  assert.equal(await updateKubeconfigFile(file, (text) => text), false);
  assert.equal(statSync(file).ino, ino);
  assert.deepEqual(readdirSync(join(file, "..")), ["config"]);
});

test("mode, owner and links of a file stay", async (t) => {
  const folder = scratch(t);
  mkdirSync(join(folder, "real"));
  const [real, link] = [join(folder, "real/config"), join(folder, "link")];
  writeFileSync(real, "");
  chmodSync(real, 0o664);
  if (process.getuid?.() === 0) chownSync(real, 1234, 2345);
  const before = statSync(real);
  symlinkSync("real/config", link);
  await updateKubeconfigFile(link, append("x"));
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.equal(readFileSync(real, "utf8"), "x\n");
  const { mode, uid, gid } = statSync(real);
  assert.deepEqual([mode & 0o777, uid, gid], [0o664, before.uid, before.gid]);
  // A link to a file that is to come.
  symlinkSync("real/later", join(folder, "dangling"));
  await updateKubeconfigFile(join(folder, "dangling"), append("x"));
  assert.equal(readFileSync(join(folder, "real/later"), "utf8"), "x\n");
});

test("rejects a path that is not a file; a failed edit changes nothing", async (t) => {
  const folder = scratch(t);
  await assert.rejects(updateKubeconfigFile(folder, append("x")), {
    message: `${folder} must be a file, not a folder`,
  });
  if (process.platform === "linux")
    await assert.rejects(updateKubeconfigFile("/proc/dray/config", append("x")), { code: "ENOENT" });
  const file = join(folder, "config");
  writeFileSync(file, "mine");
  const fail = (): string => {
    throw new Error("malformed");
  };
  await assert.rejects(updateKubeconfigFile(file, fail), /malformed/);
  assert.equal(readFileSync(file, "utf8"), "mine");
  assert.deepEqual(readdirSync(folder), ["config"]);
});

test("concurrent changes by many processes are all kept, also through a link", async (t) => {
  const folder = scratch(t);
  const [file, link] = [join(folder, "config"), join(folder, "link")];
  symlinkSync("config", link);
  const script = `
    import { updateKubeconfigFile } from ${JSON.stringify(import.meta.resolve("./kubeconfig-file.ts"))};
    for (let i = 0; i < 10; i++)
      await updateKubeconfigFile(process.argv[1], (text) => text + process.argv[2] + i + "\\n");`;
  const args = ["--conditions=dray-source", "--input-type=module-typescript", "-e", script];
  const children = ["a", "b", "c", "d"].map((name, i) =>
    spawn(process.execPath, [...args, i % 2 === 0 ? file : link, name], { stdio: "inherit" }),
  );
  const codes = await Promise.all(
    children.map((child) => new Promise((resolve) => child.once("exit", resolve))),
  );
  assert.deepEqual(codes, [0, 0, 0, 0]);
  assert.equal(new Set(readFileSync(file, "utf8").trimEnd().split("\n")).size, 40);
  assert.deepEqual(readdirSync(folder).sort(), ["config", "link"]);
});

test("waits for the lock of another program, but not for one of a dead process of ours", async (t) => {
  const folder = scratch(t);
  const file = join(folder, "config");
  // As kubectl makes it: empty, without permissions.
  writeFileSync(`${file}.lock`, "", { mode: 0 });
  let done = false;
  const update = updateKubeconfigFile(file, append("x")).then(() => (done = true));
  await holdsFor("it waits", () => !done, 100);
  rmSync(`${file}.lock`);
  await update;

  const { pid } = spawnSync("true");
  writeFileSync(`${file}.lock`, JSON.stringify({ pid }));
  await updateKubeconfigFile(file, append("y"));
  assert.equal(readFileSync(file, "utf8"), "x\ny\n");
  assert.equal(existsSync(`${file}.lock`), false);

  writeFileSync(`${file}.lock`, JSON.stringify(thisProcess()));
  let taken = false;
  const waiting = updateKubeconfigFile(file, append("z")).then(() => (taken = true));
  await holdsFor("it waits", () => !taken, 100);
  rmSync(`${file}.lock`);
  await waiting;
});
