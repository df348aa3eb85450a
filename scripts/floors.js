// The house has floors: a package imports only packages on lower floors. Tests may import every package. A
// private package is for tests only. Above the packages are the folders of sources.js, foldersAbove: each may
// import all packages and the folders before it. That package.json names what is imported is a rule of its
// own (rules/dependencies.ts).
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { repository } from "./node24.js";
import { entryPoints } from "./packages.js";
import { foldersAbove, importsOf, isTest, packageFolders, sourceFiles } from "./sources.js";

const floors = [
  ["@dray/files"],
  ["@dray/api", "@dray/cdi", "@dray/rpc", "@dray/store", "@dray/streams"],
  ["@dray/cel", "@dray/client"],
  ["@dray/allocator", "@dray/apiserver", "@dray/driver", "@dray/kubelet"],
  [
    "@dray/scheduler",
    "@dray/controllers",
    "@dray/device-plugin-example",
    "@dray/driver-example",
    "@dray/driver-simulated",
    "@dray/testing",
  ],
  ["@dray/cluster"],
  ["dray"],
];
const floorOf = new Map(floors.flatMap((names, floor) => names.map((name) => [name, floor])));

/** Packages for tests only. */
const privatePackages = ["@dray/testing"];

const problems = [];

const nameOf = (specifier) =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

/** Names of the packages that a file imports. */
const dependenciesOf = (file) =>
  importsOf(file)
    .filter((specifier) => !specifier.startsWith(".") && !specifier.startsWith("node:"))
    .map(nameOf);

/** Folders above the packages whose files a file imports. */
const aboveOf = (file) =>
  importsOf(file)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => relative(repository, join(dirname(file), specifier)).split("/")[0])
    .filter((folder) => foldersAbove.includes(folder));

/** The files that npm gets of a package: its entry points, and what they import of the package. */
function publishedFiles(folder, manifest) {
  const files = new Set(entryPoints({ folder, manifest }));
  for (const file of files)
    for (const specifier of importsOf(file)) {
      const target = join(dirname(file), specifier);
      if (specifier.startsWith(".") && existsSync(target)) files.add(target);
    }
  return files;
}

/** Never returns in /proc and the like. */
const endlessFolders = /\bmkdir(Sync)?\([^;]*?\brecursive:/;

for (const path of packageFolders()) {
  const folder = join(repository, path);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const floor = floorOf.get(manifest.name);
  if (floor === undefined) {
    problems.push(`${manifest.name} stands on no floor: name it in scripts/floors.js`);
    continue;
  }
  for (const file of sourceFiles(join(folder, "src"))) {
    const test = isTest(file);
    const where = relative(repository, file);
    if (!test && endlessFolders.test(readFileSync(file, "utf8")))
      problems.push(`${where} calls mkdir with recursive: use makeFolder of @dray/files`);
    for (const above of aboveOf(file))
      problems.push(`${where} imports a file of ${above}, which is above the packages`);
    if (test) continue;
    for (const dependency of dependenciesOf(file)) {
      if (dependency === manifest.name) continue;
      const other = floorOf.get(dependency);
      if (other !== undefined && other >= floor)
        problems.push(`${where} imports ${dependency}, which is not on a lower floor`);
    }
  }
  if (manifest.private === true) continue;
  for (const file of publishedFiles(folder, manifest))
    for (const dependency of dependenciesOf(file))
      if (privatePackages.includes(dependency))
        problems.push(`${relative(repository, file)} is published and imports ${dependency}, which is not`);
}

for (const [floor, folder] of foldersAbove.entries())
  for (const file of sourceFiles(join(repository, folder)))
    for (const other of aboveOf(file))
      if (foldersAbove.indexOf(other) > floor)
        problems.push(
          `${relative(repository, file)} imports a file of ${other}, which is not on a lower floor`,
        );

for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);
