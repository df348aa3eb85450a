// The packages that npm gets, read from their package.json files. Runs on Node >= 20.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "./node24.js";

/**
 * All packages, each after those that it depends on: `folder` (absolute), `manifest`, and `dependencies`,
 * those of them that stand in this repository.
 */
export function packages() {
  const all = new Map();
  for (const root of ["packages", "drivers"]) {
    for (const name of readdirSync(join(repository, root)).sort()) {
      const folder = join(repository, root, name);
      if (!existsSync(join(folder, "package.json"))) continue;
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      if (manifest.private !== true) all.set(manifest.name, { folder, manifest });
    }
  }
  const ordered = new Map();
  const visit = (name) => {
    if (ordered.has(name)) return;
    const { folder, manifest } = all.get(name);
    // Parts of a bundle are devDependencies: nobody installs them.
    const named = manifest.bin ? manifest.devDependencies : manifest.dependencies;
    const dependencies = Object.keys(named ?? {}).filter((other) => all.has(other));
    for (const other of dependencies) visit(other);
    ordered.set(name, { folder, manifest, dependencies });
  };
  for (const name of all.keys()) visit(name);
  return [...ordered.values()];
}

/**
 * The sources of a package's entry points, as absolute paths: what its `exports` name under `dray-source`.
 */
export function entryPoints({ folder, manifest }) {
  return Object.values(manifest.exports ?? {}).flatMap((target) => {
    const source = target["dray-source"];
    if (source === undefined) return [];
    const [before, after] = join(folder, source).split("*");
    if (after === undefined) return [before];
    return filesIn(before).filter((file) => file.endsWith(after) && !file.endsWith(".test.ts"));
  });
}

/** All files below a folder, in order. */
export function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}
