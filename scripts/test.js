// `npm test [FILE|FOLDER...]`: sets up, then runs all tests (or those named) on Node 24. Runs on Node >= 20.
import { readdirSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { prepare } from "./clone.js";
import { repository, run } from "./node24.js";

// The program that tests start: the bundle of the sources as they are now.
process.env.DRAY_TEST_PROGRAM = (await prepare()).main;

function testFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === "node_modules" || entry.name.startsWith(".")) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return testFiles(path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

const all = ["packages", "drivers", "bench", "interop", "scripts", "test"].map((name) =>
  join(repository, name),
);
const named = process.argv.slice(2);
const missing = named.find((path) => statSync(path, { throwIfNoEntry: false }) === undefined);
if (missing !== undefined) {
  console.error(`${missing}: there is no such file or folder`);
  process.exit(2);
}
const files = (named.length > 0 ? named : all).flatMap((path) =>
  statSync(path).isDirectory() ? testFiles(path) : [path],
);
// Without files Node runs all that it finds.
if (files.length === 0) {
  console.error(`${named.join(", ")}: no file there ends with .test.ts`);
  process.exit(2);
}
const reporters = ["spec", join(repository, "scripts", "reporter.js")].flatMap((reporter) => [
  `--test-reporter=${reporter}`,
  "--test-reporter-destination=stdout",
]);
// A test that hangs is one that failed, and says so.
const limits = ["--test-timeout=300000", "--import", join(repository, "scripts", "test-process.js")];
// Many files wait for processes most of their time: one file for each core leaves cores idle.
const concurrency = `--test-concurrency=${availableParallelism() + 1}`;
run([...limits, "--test", concurrency, ...reporters, ...files]);
