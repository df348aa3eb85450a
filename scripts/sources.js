// Reads the sources of the repository and what they import.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "./node24.js";

/** Static and dynamic imports, exports from elsewhere, and types named by `import("...")`. */
const imports = /^(?:import|export)\b[^;]*?\bfrom\s*"([^"]*)"|^import\s*"([^"]*)"|\bimport\("([^"]*)"\)/gm;

/** Folders of all packages of the workspace, relative to the repository. */
export function packageFolders() {
  return ["packages", "drivers"].flatMap((root) =>
    readdirSync(join(repository, root)).map((name) => `${root}/${name}`),
  );
}

/** Folders above the packages, relative to the repository, from the lowest floor to the highest. */
export const foldersAbove = ["scripts", "conformance", "interop", "bench", "test"];

const skippedFolders = ["node_modules", "dist", "generated", "testdata"];

/** Paths of the hand-written .ts and .js files below a folder; empty if the folder does not exist. */
export function sourceFiles(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return skippedFolders.includes(entry.name) ? [] : sourceFiles(path);
    return /(?<!\.d)\.[jt]s$/.test(entry.name) ? [path] : [];
  });
}

/** Whether a file is a test or exists only for tests. */
export function isTest(file) {
  return /\.test\.ts$|\/conformance\.ts$|\/testing(\/|\.ts$)/.test(file);
}

/** Module specifiers that a file imports, types included. */
export function importsOf(file) {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(imports)].map(([, from, effect, dynamic]) => from ?? effect ?? dynamic);
}
