// The house has floors: a package imports only packages on lower floors, and only what its package.json names.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { repository } from "./node24.js";

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

/** Static and dynamic imports of packages. */
const imports = /^(?:import|export)\b[^;]*?\bfrom\s*"([^".][^"]*)"|\bimport\("([^".][^"]*)"\)/gm;

/** Never returns in /proc and the like. */
const endlessFolders = /\bmkdir(Sync)?\([^;]*?\brecursive:/;

function sources(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      return entry.name === "generated" || entry.name === "testdata" ? [] : sources(path);
    return /(?<!\.d)\.ts$/.test(entry.name) ? [path] : [];
  });
}

for (const root of ["packages", "drivers"]) {
  for (const name of readdirSync(join(repository, root))) {
    const folder = join(repository, root, name);
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const floor = floorOf.get(manifest.name);
    if (floor === undefined) {
      problems.push(`${manifest.name} stands on no floor: name it in scripts/floors.js`);
      continue;
    }
    for (const file of sources(join(folder, "src"))) {
      const test = /\.test\.ts$|\/conformance\.ts$|\/testing(\/|\.ts$)|\/test-\w+\.ts$/.test(file);
      const source = readFileSync(file, "utf8");
      if (!test && endlessFolders.test(source))
        problems.push(
          `${relative(repository, file)} calls mkdir with recursive: use makeFolder of @dray/files`,
        );
      for (const [, from, dynamic] of source.matchAll(imports)) {
        const specifier = from ?? dynamic;
        if (specifier.startsWith("node:")) continue;
        const dependency = specifier
          .split("/")
          .slice(0, specifier.startsWith("@") ? 2 : 1)
          .join("/");
        if (dependency === manifest.name) continue;
        const where = relative(repository, file);
        const other = floorOf.get(dependency);
        if (other !== undefined && other >= floor && !test) {
          problems.push(`${where} imports ${dependency}, which is not on a lower floor`);
        }
        const named = { ...manifest.dependencies, ...manifest.devDependencies };
        if (named[dependency] === undefined && !test)
          problems.push(`${where} imports ${dependency}, which its package.json does not name`);
      }
    }
  }
}

for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);
