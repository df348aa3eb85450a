// Installs what the lockfile names, where that is not installed. Runs on Node >= 20.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { newNode } from "../packages/dray/bin/start.js";

const repository = dirname(dirname(fileURLToPath(import.meta.url)));

/** Makes `node_modules` match the lockfile; does nothing when it already does, whoever ran npm. */
export function setup() {
  if (isInstalled(repository) && hasNode()) return;
  process.stderr.write("dray: installing dependencies (npm ci) ...\n");
  // Tools are needed, too, whatever NODE_ENV says.
  const npm = spawnSync("npm", ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: repository,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (npm.status !== 0) {
    process.stderr.write("dray: npm ci failed; the lines above say why\n");
    process.exit(1);
  }
}

/**
 * Whether the packages below a folder are those of its lockfile: npm writes down what it has installed. Optional ones
 * may be missing, as those for other platforms are.
 */
export function isInstalled(folder) {
  const lockfile = join(folder, "package-lock.json");
  if (!existsSync(lockfile)) return true;
  try {
    const wanted = packagesOf(lockfile);
    const installed = packagesOf(join(folder, "node_modules", ".package-lock.json"));
    return Object.entries(wanted).every(([path, { version, integrity, resolved, link, optional }]) => {
      if (path === "") return true;
      const found = installed[path];
      if (found === undefined) return optional === true || wanted[resolved]?.optional === true;
      return found.version === version && found.integrity === integrity && found.link === link;
    });
  } catch {
    return false;
  }
}

const packagesOf = (file) => JSON.parse(readFileSync(file, "utf8")).packages;

/** A clone that was installed with a newer Node has none for an older one. */
function hasNode() {
  try {
    return newNode() !== undefined;
  } catch {
    return false;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setup();
