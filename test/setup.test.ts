/** When a clone has what it needs, whoever ran npm: `npx dray` installs nothing then. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { repository } from "./harness.ts";

// Plain JavaScript, without types.
const script: string = join(repository, "scripts", "setup.js");
const { isInstalled } = (await import(script)) as { isInstalled(folder: string): boolean };

let folder: string;

const wanted = {
  "": { name: "root" },
  "node_modules/a": { version: "1.0.0", integrity: "sha512-a" },
  "node_modules/tool": { version: "2.0.0", integrity: "sha512-tool", dev: true },
  "node_modules/other-platform": { version: "3.0.0", integrity: "sha512-other", optional: true },
  "node_modules/own": { resolved: "packages/own", link: true },
  "packages/own": { version: "0.1.0" },
  "node_modules/own-node": { resolved: "packages/own-node", link: true },
  "packages/own-node": { version: "0.1.0", optional: true },
};

function write(file: string, packages: object): void {
  writeFileSync(join(folder, file), JSON.stringify({ lockfileVersion: 3, packages }));
}

/** Writes the list of installed packages: complete, except for `changes`; undefined means missing. */
const installed = (changes: object = {}): void =>
  write("node_modules/.package-lock.json", { ...wanted, ...changes });

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dray-setup-"));
  mkdirSync(join(folder, "node_modules"));
  write("package-lock.json", wanted);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("isInstalled accepts an installation by npm from the lockfile", () => {
  installed();
  assert.equal(isInstalled(folder), true);
  installed({ "node_modules/mine": { version: "1.0.0" } });
  assert.equal(isInstalled(folder), true);
});

test("optional packages may be missing: npm leaves out those for other platforms, and for other versions of Node", () => {
  installed({ "node_modules/other-platform": undefined, "node_modules/own-node": undefined });
  assert.equal(isInstalled(folder), true);
});

test("a package that is missing, of another version or content, or no link any more, is to be installed", () => {
  for (const changes of [
    { "node_modules/a": undefined },
    { "node_modules/tool": undefined },
    { "node_modules/own": undefined },
    { "node_modules/a": { version: "1.0.1", integrity: "sha512-a" } },
    { "node_modules/a": { version: "1.0.0", integrity: "sha512-b" } },
    { "node_modules/other-platform": { version: "2.0.0", integrity: "sha512-other" } },
    { "node_modules/own": { version: "0.1.0" } },
  ]) {
    installed(changes);
    assert.equal(isInstalled(folder), false, JSON.stringify(changes));
  }
});

test("nothing installed, or half of it, is to be installed; without a lockfile there is nothing to do", () => {
  assert.equal(isInstalled(folder), false);
  writeFileSync(join(folder, "node_modules/.package-lock.json"), '{ "packages": {');
  assert.equal(isInstalled(folder), false);
  rmSync(join(folder, "package-lock.json"));
  assert.equal(isInstalled(folder), true);
});

test("this clone, which npm has installed, is complete", () => {
  assert.equal(isInstalled(repository), true);
});
