import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import {
  removeFile,
  writeFileAtomically,
  writeFileAtomicallySync,
  writeFilesAtomicallySync,
} from "./index.ts";

/** A user that owns no files. */
const nobody = 65_534;

function scratch(t: TestContext): string {
  const folder = temporaryFolder(t);
  return folder;
}

const forms = {
  async: writeFileAtomically,
  sync: async (...args: Parameters<typeof writeFileAtomicallySync>) => writeFileAtomicallySync(...args),
};

/** Returns the system calls on files that a program makes, with the paths as passed. */
function systemCalls(folder: string, program: string): string[] | undefined {
  const trace = join(folder, "trace");
  const script = join(folder, "program.mts");
  writeFileSync(
    script,
    `import * as files from ${JSON.stringify(import.meta.resolve("./index.ts"))};\n${program}`,
  );
  const calls = "trace=openat,write,fsync,rename,close,mkdir";
  const strace = spawnSync("strace", ["-f", "-y", "-e", calls, "-o", trace, process.execPath, script]);
  if (strace.error !== undefined) return undefined;
  assert.equal(strace.status, 0, String(strace.stderr));
  return readFileSync(trace, "utf8").split("\n");
}

for (const [form, write] of Object.entries(forms)) {
  test(`${form}: replaces a file, and leaves nothing else in its folder`, async (t) => {
    const folder = scratch(t);
    const path = join(folder, "state.json");
    await write(path, "old");
    await write(path, "new", { mode: 0o640 });
    assert.equal(readFileSync(path, "utf8"), "new");
    assert.equal(statSync(path).mode & 0o777, 0o640);
    assert.deepEqual(readdirSync(folder), ["state.json"]);
  });

  test(`${form}: gives access to the owner only by default`, async (t) => {
    const path = join(scratch(t), "key.pem");
    await write(path, new TextEncoder().encode("secret"));
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(readFileSync(path, "utf8"), "secret");
  });

  test(`${form}: a name of the longest length can be replaced`, async (t) => {
    const path = join(scratch(t), "n".repeat(255));
    await write(path, "text");
    assert.equal(readFileSync(path, "utf8"), "text");
  });

  test(`${form}: creates missing folders only with an option for their permissions`, async (t) => {
    const path = join(scratch(t), "a", "b", "file");
    await assert.rejects(write(path, "text"), { code: "ENOENT" });
    await write(path, "text", { folderMode: 0o700 });
    assert.equal(statSync(join(path, "..")).mode & 0o777, 0o700);
    assert.equal(readFileSync(path, "utf8"), "text");
  });

  test(`${form}: a failed rename leaves the old file, no temporary one, and names the path`, async (t) => {
    const folder = scratch(t);
    const path = join(folder, "state");
    mkdirSync(join(path, "not-empty"), { recursive: true });
    await assert.rejects(write(path, "text"), (error: NodeJS.ErrnoException) => {
      assert.ok(error.message.startsWith(`cannot write ${path}: `), error.message);
      assert.match(error.code ?? "", /^(EISDIR|ENOTEMPTY)$/);
      return true;
    });
    assert.deepEqual(readdirSync(folder), ["state"]);
  });

  test(`${form}: a link is replaced, or followed if asked`, async (t) => {
    const folder = scratch(t);
    const [link, target] = [join(folder, "config"), join(folder, "real", "config")];
    mkdirSync(join(folder, "real"));
    symlinkSync(join("real", "config"), link);
    await write(link, "first", { followLink: true });
    assert.equal(readFileSync(target, "utf8"), "first");
    await write(link, "second", { followLink: true });
    assert.equal(readlinkSync(link), join("real", "config"));
    assert.equal(readFileSync(target, "utf8"), "second");
    await write(link, "third");
    assert.ok(!lstatSync(link).isSymbolicLink());
    assert.equal(readFileSync(target, "utf8"), "second");
  });

  test(`${form}: links in a circle are an error`, async (t) => {
    const folder = scratch(t);
    symlinkSync("b", join(folder, "a"));
    symlinkSync("a", join(folder, "b"));
    await assert.rejects(write(join(folder, "a"), "", { followLink: true }), /too many symbolic links/);
  });

  test(`${form}: syncs the file before the rename, and the folder after it`, (t) => {
    const folder = scratch(t);
    const calls = systemCalls(
      folder,
      form === "async"
        ? `await files.writeFileAtomically(${JSON.stringify(join(folder, "new", "x"))}, "text", { folderMode: 0o700 });`
        : `files.writeFileAtomicallySync(${JSON.stringify(join(folder, "new", "x"))}, "text", { folderMode: 0o700 });`,
    );
    if (calls === undefined) return t.skip("strace is not installed");
    const at = (pattern: RegExp): number => calls.findIndex((line) => pattern.test(line));
    const made = at(/mkdir\(".*\/new"/);
    const parent = at(/fsync\(\d+<[^>]*\/dray-\w+>/);
    const file = at(/fsync\(\d+<[^>]*\/new\/\.[\w-]+\.tmp>/);
    const renamed = at(/rename\(".*\.tmp", ".*\/new\/x"/);
    const synced = at(/fsync\(\d+<[^>]*\/new>/);
    const order = [made, parent, file, renamed, synced];
    assert.ok(made >= 0 && synced >= 0, calls.join("\n"));
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
      calls.join("\n"),
    );
    return undefined;
  });
}

test("a disk that takes only a part leaves the old file and is an error", (t) => {
  const folder = scratch(t);
  const path = join(folder, "checkpoint");
  writeFileSync(path, "old");
  const script = join(folder, "program.mts");
  writeFileSync(
    script,
    `import { removeFile, writeFileAtomically, writeFileAtomicallySync } from ${JSON.stringify(import.meta.resolve("./index.ts"))};
     const text = "x".repeat(100_000);
     try { writeFileAtomicallySync(${JSON.stringify(path)}, text); } catch (error) { console.log(error.message); }
     await writeFileAtomically(${JSON.stringify(path)}, text).catch((error) => console.log(error.message));`,
  );
  // With a limit on the size of files, write(2) writes a part and then fails, as on a full disk.
  const { stdout, stderr } = spawnSync(
    "sh",
    ["-c", 'ulimit -f 8; exec "$0" "$1"', process.execPath, script],
    {
      encoding: "utf8",
    },
  );
  const expected = `cannot write ${path}: EFBIG: file too large, write\n`;
  assert.equal(stdout, expected.repeat(2), stderr);
  assert.equal(readFileSync(path, "utf8"), "old");
  assert.deepEqual(readdirSync(folder).sort(), ["checkpoint", "program.mts"]);
});

test("removing a file removes the temporary file of its killed writer, and nothing else", async (t) => {
  const folder = scratch(t);
  const [path, other] = [join(folder, "claim-1.json"), join(folder, "claim-2.json")];
  writeFileSync(other, "");
  const script = join(folder, "program.mts");
  // Killed at the first sync: the temporary file exists and has not been renamed.
  writeFileSync(
    script,
    `import fs from "node:fs";
     import { syncBuiltinESMExports } from "node:module";
     import { writeFileAtomicallySync } from ${JSON.stringify(import.meta.resolve("./index.ts"))};
     fs.fsyncSync = () => process.kill(process.pid, "SIGKILL");
     syncBuiltinESMExports();
     writeFileAtomicallySync(process.argv[2], "text");`,
  );
  for (const target of [path, path, other]) spawnSync(process.execPath, [script, target]);
  const left = (): string[] => readdirSync(folder).filter((name) => name.endsWith(".tmp"));
  assert.equal(left().length, 3);
  await removeFile(path);
  assert.equal(left().length, 1);
  assert.ok(readdirSync(folder).includes("claim-2.json"));
  await removeFile(other);
  assert.deepEqual(readdirSync(folder), ["program.mts"]);
  await removeFile(join(folder, "none", "file"));
});

test("writers of one path at once leave one whole file", async (t) => {
  const folder = scratch(t);
  const path = join(folder, "state");
  const texts = Array.from({ length: 20 }, (_, i) => String(i).repeat(10_000 + i));
  await Promise.all(texts.map((text) => writeFileAtomically(path, text)));
  assert.ok(texts.includes(readFileSync(path, "utf8")));
  assert.deepEqual(readdirSync(folder), ["state"]);
});

test("files of a list come in their order, and none after one that fails", (t) => {
  const folder = scratch(t);
  mkdirSync(join(folder, "2", "not-empty"), { recursive: true });
  const files = ["0", "1", "2", "3"].map((name) => ({ path: join(folder, name), data: name }));
  assert.throws(() => writeFilesAtomicallySync(files), /cannot write .*\/2: /);
  assert.deepEqual(readdirSync(folder).sort(), ["0", "1", "2"]);
});

test("more files than a process may have open are written", (t) => {
  const folder = scratch(t);
  const script = join(folder, "program.mts");
  writeFileSync(
    script,
    `import { writeFilesAtomicallySync } from ${JSON.stringify(import.meta.resolve("./index.ts"))};
     writeFilesAtomicallySync(Array.from({ length: 150 }, (_, i) => ({ path: ${JSON.stringify(folder)} + "/f" + i, data: "x" })));`,
  );
  const { status, stderr } = spawnSync(
    "sh",
    ["-c", 'ulimit -n 100; exec "$0" "$1"', process.execPath, script],
    {
      encoding: "utf8",
    },
  );
  assert.equal(status, 0, stderr);
  assert.equal(readdirSync(folder).length, 151);
});

test("a folder that cannot be read can be written to", async (t) => {
  const folder = scratch(t);
  // Root can read every folder, so the test runs as `nobody`.
  const root = process.getuid?.() === 0;
  if (root) chownSync(folder, nobody, nobody);
  chmodSync(folder, 0o300);
  if (root) process.seteuid?.(nobody);
  try {
    assert.throws(() => readdirSync(folder), /EACCES/);
    await writeFileAtomically(join(folder, "x"), "text");
    writeFileAtomicallySync(join(folder, "x"), "text");
  } finally {
    if (root) process.seteuid?.(0);
    chmodSync(folder, 0o700);
  }
});

test("a write that need not be durable does not wait for the disk", (t) => {
  const folder = scratch(t);
  const path = join(folder, "x");
  const options = "{ durable: false, folderMode: 0o700 }";
  const calls = systemCalls(
    folder,
    `files.writeFileAtomicallySync(${JSON.stringify(path)}, "text", ${options});
     await files.writeFileAtomically(${JSON.stringify(path)}, "text", ${options});`,
  );
  if (calls === undefined) return t.skip("strace is not installed");
  assert.equal(calls.filter((line) => line.includes(`.tmp", "${path}"`)).length, 2, calls.join("\n"));
  assert.deepEqual(
    calls.filter((line) => line.includes("fsync(")),
    [],
  );
  return undefined;
});
