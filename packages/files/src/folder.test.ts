import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { makeFolder, makeFolderSync } from "./index.ts";

const both = {
  makeFolder,
  makeFolderSync: async (path: string, mode?: number) => makeFolderSync(path, mode),
};

for (const [name, make] of Object.entries(both)) {
  test(`${name} makes what is missing with its mode, returns the first, and leaves what is there`, async (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, "a/b/c");
    assert.equal(await make(path, 0o700), join(folder, "a"));
    for (const made of ["a", "a/b", "a/b/c"]) assert.equal(statSync(join(folder, made)).mode & 0o777, 0o700);
    assert.equal(await make(path), undefined);
    assert.equal(await make(`${path}/d/`), `${path}/d/`);
    symlinkSync("a", join(folder, "link"));
    assert.equal(await make(join(folder, "link/x")), join(folder, "link/x"));
    assert.equal(await make(join(folder, "link")), undefined);
    assert.equal(await make("/"), undefined);
    assert.deepEqual(
      await Promise.all(["same/x", "same/y", "same/z"].map((one) => make(join(folder, one)))).then((all) =>
        all.map((one) => existsSync(one ?? "")),
      ),
      [true, true, true],
    );
  });

  test(`${name} fails with the system's error where no folder can be`, async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, "file"), "");
    symlinkSync("nowhere", join(folder, "dangling"));
    mkdirSync(join(folder, "loop"));
    symlinkSync("loop", join(folder, "loop/loop"));
    symlinkSync("endless", join(folder, "endless"));
    for (const [path, code] of [
      ["file", "EEXIST"],
      ["file/below", "ENOTDIR"],
      ["dangling", "EEXIST"],
      ["dangling/below", "EEXIST"],
      ["endless/below", "ELOOP"],
    ] as const)
      await assert.rejects(make(join(folder, path)), { code }, path);
  });

  test(`${name} returns where the system says that an existing parent is missing`, (t) => {
    if (process.platform !== "linux") return t.skip("no /proc");
    // Runs in a separate process: code that never returns would block this test's timeout.
    const module = new URL("./index.ts", import.meta.url).href;
    const script = `
      const { ${name} } = await import(${JSON.stringify(module)});
      for (const path of ["/proc/dray", "/proc/dray/below", "/proc/self/fd/dray/below"])
        try { await ${name}(path); } catch (error) { console.log(error.code); }`;
    const { stdout, signal } = spawnSync(process.execPath, [...process.execArgv, "-e", script], {
      encoding: "utf8",
      timeout: 30_000,
    });
    assert.equal(signal, null);
    assert.equal(stdout, "ENOENT\nENOENT\nENOENT\n");
  });
}
