// Installs what the lockfile names, where that is not installed. Runs on Node >= 20.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isNewEnough } from "../packages/dray/bin/start.js";
import { installedNode, repository } from "./node24.js";

/** Makes `node_modules` match the lockfile; does nothing when it already does, whoever ran npm. */
export function setup() {
  // A clone that was installed with a newer Node has none for an older one.
  if (isInstalled(repository) && (isNewEnough || installedNode() !== undefined)) return;
  process.stderr.write("dray: installing dependencies (npm ci) ...\n");
  // Tools are needed, too, whatever NODE_ENV says.
  const quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
  const npm = spawnSync("npm", ["ci", "--include=dev", ...quiet], {
    cwd: repository,
    env: environment(),
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (npm.status !== 0) {
    process.stderr.write("dray: npm ci failed; the lines above say why\n");
    process.exit(1);
  }
}

/**
 * Without our own tools on the PATH, where `npm run` has put them first: npm would run on the Node 24 that
 * it is about to replace, and leave that one out, since `runtime/package.json` is for older ones.
 */
function environment() {
  const path = (process.env.PATH ?? "").split(delimiter);
  const tools = join(repository, "node_modules");
  return { ...process.env, PATH: path.filter((folder) => !folder.startsWith(tools)).join(delimiter) };
}

/**
 * Whether the packages below a folder are those of its lockfile: npm writes down what it has installed.
 * Optional ones may be missing, as those for other platforms are.
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

if (process.argv[1] === fileURLToPath(import.meta.url)) setup();
