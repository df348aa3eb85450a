/** What `bin/dray.js` runs: the sources as a bundle, as long as they are those it was made of. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

// Plain JavaScript, without types.
const script: string = join(import.meta.dirname, "..", "bin", "bundle.js");
const { bundled } = (await import(script)) as {
  bundled(root: string, source: string, folder: string): Promise<string>;
};

let root: string;
let source: string;
let folder: string;

/** Writes a file that was last changed at a time of its own. */
function write(name: string, text: string, seconds: number): string {
  const file = join(root, name);
  writeFileSync(file, text);
  utimesSync(file, seconds, seconds);
  return file;
}

const program = (): Promise<string> => bundled(root, source, folder);
const output = (file: string): string => execFileSync(process.execPath, [file], { encoding: "utf8" });

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "dray-bundle-"));
  folder = join(root, "dist");
  mkdirSync(join(root, "packages/tool"), { recursive: true });
  write("package-lock.json", "{}", 1000);
  write("packages/tool/package.json", '{ "type": "module" }', 1000);
  write("packages/tool/words.ts", 'export const word: string = "one";', 1000);
  source = write(
    "packages/tool/main.ts",
    'import { word } from "./words.ts";\nprocess.stdout.write(word);',
    1000,
  );
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

test("a program is bundled once, and answers as its source does", async () => {
  const first = await program();
  assert.ok(first.startsWith(folder), first);
  assert.equal(output(first), "one");
  const made = statSync(first).mtimeMs;
  assert.equal(await program(), first);
  assert.equal(statSync(first).mtimeMs, made);
});

test("a change of a source, of the dependencies or of the bundle is noticed; the files of the old one stay", async () => {
  const first = await program();
  write("packages/tool/words.ts", 'export const word: string = "two";', 2000);
  const second = await program();
  assert.equal(output(second), "two");
  assert.ok(existsSync(first));
  const made = statSync(second).mtimeMs;
  write("package-lock.json", "{} ", 2000);
  assert.equal(await program(), second);
  assert.notEqual(statSync(second).mtimeMs, made);
  rmSync(second);
  assert.equal(output(await program()), "two");
  write("dist/bundle.json", "{}", 2000);
  assert.equal(await program(), second);
});

test("bundles of the days before are deleted", async () => {
  const first = await program();
  utimesSync(join(first, ".."), 1000, 1000);
  write("packages/tool/words.ts", 'export const word: string = "two";', 2000);
  await program();
  assert.ok(!existsSync(first));
});

test("what cannot be bundled, or changes meanwhile, runs as it stands", async () => {
  write("packages/tool/words.ts", 'export const word: string = "one";', Date.now() / 1000 + 60);
  assert.equal(await program(), source);
  write("packages/tool/words.ts", "export const", 1000);
  assert.equal(await program(), source);
  assert.ok(!existsSync(folder));
});
