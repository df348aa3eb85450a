// The house has floors: a package imports only packages on lower floors, and every workspace only what its package.json
// names. Tests may import every package. A private package is for tests only.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { repository } from "./node24.js";
import { entryPoints } from "./packages.js";
import { importsOf, isTest, packageFolders, sourceFiles } from "./sources.js";

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
/** Workspaces that are no packages: they stand above the house. */
const others = ["bench", "conformance", "interop", "test"];

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

/** Whether a file imports what its workspace does not name. A name in a text that a test writes is not installed. */
function checkNamed(file, { name, dependencies, devDependencies }) {
  const named = { ...dependencies, ...devDependencies, [name]: "itself" };
  for (const dependency of new Set(dependenciesOf(file)))
    if (named[dependency] === undefined && existsSync(join(repository, "node_modules", dependency)))
      problems.push(
        `${relative(repository, file)} imports ${dependency}, which the package.json of ${name} does not name`,
      );
}

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
    checkNamed(file, manifest);
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

for (const path of others) {
  const manifest = JSON.parse(readFileSync(join(repository, path, "package.json"), "utf8"));
  for (const file of sourceFiles(join(repository, path))) checkNamed(file, manifest);
}

for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);
