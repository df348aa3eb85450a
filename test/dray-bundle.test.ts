/**
 * The bundle that `dray` runs, in a clone and in the npm package: it is used as long as the sources are those
 * that it was built from.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

// Plain JavaScript, without types.
const script: string = join(import.meta.dirname, "..", "scripts", "bundle.js");
const { bundled, prune } = (await import(script)) as {
  bundled(root: string, source: string, folder: string): Promise<string>;
  prune(folder: string): void;
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

test("a program is bundled once, and behaves as its source", async () => {
  const first = await program();
  assert.ok(first.startsWith(folder), first);
  assert.equal(output(first), "one");
  const made = statSync(first).mtimeMs;
  assert.equal(await program(), first);
  assert.equal(statSync(first).mtimeMs, made);
});

test("a change of a source, of the dependencies or of the bundle is noticed", async () => {
  const file = await program();
  write("packages/tool/words.ts", 'export const word: string = "two";', 2000);
  assert.equal(await program(), file);
  assert.equal(output(file), "two");
  const made = statSync(file).mtimeMs;
  write("package-lock.json", "{} ", 2000);
  await program();
  assert.notEqual(statSync(file).mtimeMs, made);
  for (const name of readdirSync(folder)) {
    rmSync(join(folder, name));
    assert.equal(output(await program()), "two", name);
  }
  write("dist/bundle.json", "{}", 2000);
  assert.equal(output(await program()), "two");
});

test("a running program keeps the files of its bundle for a day; a package has only the newest", async () => {
  const late = (word: string): string =>
    `process.stdin.once("data", async () => process.stdout.write((await import("./words.ts")).${word}));
process.stdout.write("started");`;
  write("packages/tool/words.ts", 'export const one: string = "one";', 1000);
  write("packages/tool/main.ts", late("one"), 1000);
  const running = spawn(process.execPath, [await program()], { stdio: ["pipe", "pipe", "inherit"] });
  const before = readdirSync(folder);
  await once(running.stdout, "data");
  write("packages/tool/words.ts", 'export const two: string = "two";', 2000);
  write("packages/tool/main.ts", late("two"), 2000);
  await program();
  running.stdin.end("now");
  assert.equal(String((await once(running.stdout, "data"))[0]), "one");
  for (const name of before) utimesSync(join(folder, name), 1000, 1000);
  assert.deepEqual(new Set(before).difference(new Set(readdirSync(folder))), new Set());
  write("package-lock.json", "{} ", 2000);
  await program();
  const after = readdirSync(folder);
  assert.ok(before.some((name) => !after.includes(name)));

  write("packages/tool/words.ts", 'export const two: string = "three";', 3000);
  await program();
  const { outputs } = JSON.parse(readFileSync(join(folder, "bundle.json"), "utf8")) as { outputs: string[] };
  assert.notEqual(readdirSync(folder).length, outputs.length + 1);
  prune(folder);
  assert.deepEqual(readdirSync(folder).sort(), [...outputs, "bundle.json"].sort());
});

test("a package that is loaded only where it is needed becomes a file beside the bundle, with its licence", async () => {
  write("package.json", '{ "type": "module" }', 1000);
  mkdirSync(join(root, "node_modules/late"), { recursive: true });
  write("node_modules/late/package.json", '{ "name": "late", "version": "1.2.3", "license": "MIT" }', 1000);
  write("node_modules/late/index.js", 'exports.word = "late";', 1000);
  write("node_modules/late/LICENSE.md", "Do what you like", 1000);
  write(
    "packages/tool/main.ts",
    `import { createRequire } from "node:module";
process.stdout.write(createRequire(import.meta.url)("late").word);`,
    1000,
  );
  const file = await program();
  rmSync(join(root, "node_modules"), { recursive: true });
  assert.equal(output(file), "late");
  assert.ok(existsSync(join(folder, "late-1.2.3.cjs")));
  const licences = readFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), "utf8");
  assert.equal(licences, "late 1.2.3 (MIT)\n\nDo what you like\n");
});

test("CommonJS gives the names that it exports, and has the modules of Node", async () => {
  mkdirSync(join(root, "node_modules/old"), { recursive: true });
  write("node_modules/old/package.json", '{ "name": "old", "version": "1.0.0" }', 1000);
  write("node_modules/old/index.js", 'exports.word = require("path").basename("/a/old");', 1000);
  mkdirSync(join(root, "node_modules/both"), { recursive: true });
  const both = '{ "name": "both", "version": "1.0.0", "type": "module", "exports": "./index.js" }';
  write("node_modules/both/package.json", both, 1000);
  write("node_modules/both/index.js", 'export { word } from "./old.cjs";', 1000);
  write("node_modules/both/old.cjs", 'exports.word = require("path").basename("/a/both");', 1000);
  write("packages/tool/words.ts", 'import { word } from "old";\nexport const early: string = word;', 1000);
  const main = `import { early } from "./words.ts";
const { word, default: all } = await import("old");
process.stdout.write([early, word, all.word, (await import("both")).word].join());`;
  write("packages/tool/main.ts", main, 1000);
  const file = await program();
  assert.ok(file.startsWith(folder), file);
  rmSync(join(root, "node_modules"), { recursive: true });
  assert.equal(output(file), "old,old,old,both");
});

test("a source that cannot be bundled or that changes meanwhile runs unbundled", async () => {
  write("packages/tool/words.ts", 'export const word: string = "one";', Date.now() / 1000 + 60);
  assert.equal(await program(), source);
  write("packages/tool/words.ts", "export const", 1000);
  assert.equal(await program(), source);
  assert.ok(!existsSync(folder));
});
