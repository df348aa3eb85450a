// `npm run pack [FOLDER [PACKAGE...]]`: builds packages (default: all) and those that they depend on, and
// writes what npm would publish of them into a folder (default: build). Runs on Node >= 20.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "./build.js";
import { repository } from "./node24.js";
import { packages } from "./packages.js";
import { setup } from "./setup.js";

const [to, ...names] = process.argv.slice(2);
// npm runs scripts in the repository, wherever its user is.
const folder = resolve(process.env.INIT_CWD ?? "", to ?? join(repository, "build"));

const wanted = named(names);
setup();
await build(wanted);
mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) {
  if (/^dray-.*\.tgz$/.test(name)) rmSync(join(folder, name));
}
const workspaces = wanted.map((name) => `--workspace=${name}`);
const options = ["--ignore-scripts", "--silent", `--pack-destination=${folder}`];
const { status } = spawnSync("npm", ["pack", ...workspaces, ...options], {
  cwd: repository,
  stdio: ["ignore", "inherit", "inherit"],
  shell: process.platform === "win32",
});
process.exit(status ?? 1);

/** Returns the names of these packages and of all that they depend on; without a name, of all packages. */
function named(names) {
  const all = packages();
  const unknown = names.filter((name) => !all.some(({ manifest }) => manifest.name === name));
  if (unknown.length > 0) {
    const known = all.map(({ manifest }) => manifest.name).join(", ");
    process.stderr.write(`pack: there is no package ${unknown.join(", ")}; there are ${known}\n`);
    process.exit(2);
  }
  if (names.length === 0) return all.map(({ manifest }) => manifest.name);
  const wanted = new Set(names);
  // A package stands after those that it depends on. A program is one bundle, which needs no package.
  for (const { manifest, dependencies } of all.reverse())
    if (wanted.has(manifest.name) && !manifest.bin) for (const other of dependencies) wanted.add(other);
  return [...wanted];
}
