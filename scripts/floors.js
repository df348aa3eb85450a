// The house has floors: a package imports only packages on lower floors.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { repository } from "./node24.js";
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
  ],
  ["@dray/cluster"],
  ["dray"],
];
const floorOf = new Map(floors.flatMap((names, floor) => names.map((name) => [name, floor])));

const problems = [];

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
    for (const specifier of importsOf(file)) {
      if (specifier.startsWith(".") || specifier.startsWith("node:")) continue;
      const dependency = specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");
      if (dependency === manifest.name) continue;
      const other = floorOf.get(dependency);
      if (other !== undefined && other >= floor && !test) {
        problems.push(`${where} imports ${dependency}, which is not on a lower floor`);
      }
    }
  }
}

for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);
