// `npm run pack [FOLDER]`: builds all packages and writes what npm would publish of them into a folder
// (default: build). Runs on Node >= 20.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildAll } from "./build.js";
import { repository } from "./node24.js";
import { packages } from "./packages.js";
import { setup } from "./setup.js";

const folder = resolve(process.argv[2] ?? join(repository, "build"));

setup();
await buildAll();
mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) {
  if (/^dray-.*\.tgz$/.test(name)) rmSync(join(folder, name));
}
const workspaces = packages().map(({ manifest }) => `--workspace=${manifest.name}`);
const options = ["--ignore-scripts", "--silent", `--pack-destination=${folder}`];
const { status } = spawnSync("npm", ["pack", ...workspaces, ...options], {
  cwd: repository,
  stdio: ["ignore", "inherit", "inherit"],
  shell: process.platform === "win32",
});
process.exit(status ?? 1);
