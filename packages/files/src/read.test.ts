import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { type ReadOptions, readEndSync, readRegularFile, readRegularFileSync } from "./index.ts";

function scratch(t: TestContext): string {
  const folder = temporaryFolder(t);
  return folder;
}

const forms = {
  async: readRegularFile,
  sync: async (path: string, options: ReadOptions) => readRegularFileSync(path, options),
};

for (const [form, read] of Object.entries(forms)) {
  test(`${form}: reads a file up to the limit`, async (t) => {
    const path = join(scratch(t), "file");
    for (const size of [0, 1, 4095, 10_000]) {
      const text = "x".repeat(size);
      writeFileSync(path, text);
      assert.equal((await read(path, { maxBytes: 10_000 })).toString(), text);
    }
  });

  test(`${form}: refuses a larger file before it reads it`, async (t) => {
    const path = join(scratch(t), "file");
    writeFileSync(path, "");
    execFileSync("truncate", ["-s", "4T", path]);
    await assert.rejects(read(path, { maxBytes: 1024 }), {
      name: "NotRegularFileError",
      path,
      message: `${path} has ${4 * 2 ** 40} bytes; at most 1024 bytes are read`,
    });
  });

  test(`${form}: files that tell no size are read up to the limit`, {
    skip: process.platform !== "linux" && "no procfs",
  }, async () => {
    const path = "/proc/self/status";
    assert.match((await read(path, { maxBytes: 1 << 20 })).toString(), /^Name:.*\nVmPeak:/ms);
    await assert.rejects(read(path, { maxBytes: 10 }), {
      message: `${path} grew beyond 10 bytes while it was read; at most 10 bytes are read`,
    });
  });

  test(`${form}: neither opens nor waits for what is not a regular file`, async (t) => {
    const folder = scratch(t);
    const [pipe, directory, socket, link] = ["pipe", "folder", "socket", "link"].map((n) => join(folder, n));
    execFileSync("mkfifo", [pipe!]);
    mkdirSync(directory!);
    symlinkSync(pipe!, link!);
    const server = createServer().listen(socket!);
    t.after(() => server.close());
    await new Promise((listening) => server.once("listening", listening));
    const table = [
      [pipe, "a named pipe"],
      [link, "a named pipe"],
      [directory, "a folder"],
      [socket, "a socket"],
      ["/dev/zero", "a character device"],
    ] as const;
    for (const [path, what] of table)
      await assert.rejects(read(path!, { maxBytes: 10 }), {
        name: "NotRegularFileError",
        message: `${path} is ${what}; only a regular file is read`,
      });
  });

  test(`${form}: follows a link unless the options forbid it`, async (t) => {
    const folder = scratch(t);
    writeFileSync(join(folder, "file"), "text");
    symlinkSync("file", join(folder, "link"));
    const path = join(folder, "link");
    assert.equal((await read(path, { maxBytes: 10 })).toString(), "text");
    await assert.rejects(read(path, { maxBytes: 10, followLink: false }), {
      message: `${path} is a symbolic link; only a regular file is read`,
    });
  });

  test(`${form}: a missing file keeps the code of the system, and the text names it`, async (t) => {
    const path = join(scratch(t), "missing");
    await assert.rejects(read(path, { maxBytes: 10 }), (error: NodeJS.ErrnoException) => {
      assert.equal(error.code, "ENOENT");
      assert.ok(error.message.startsWith(`cannot read ${path}: ENOENT`), error.message);
      return true;
    });
  });
}

test("the end of an open file is read", (t) => {
  const path = join(scratch(t), "file");
  writeFileSync(path, "0123456789");
  const file = openSync(path, "r");
  t.after(() => closeSync(file));
  assert.equal(readEndSync(file, 4).toString(), "6789");
  assert.equal(readEndSync(file, 100).toString(), "0123456789");
});
