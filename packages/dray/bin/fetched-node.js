// Provides Node for users whose own is too old: npm fetches it once, from the package for this platform. It
// is not a dependency, because npm would install it for users with a newer Node, too, and offer it to the
// scripts of their project. Runs on Node >= 20.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  // biome-ignore lint/style/noRestrictedImports: a program moves that npm has written; it can be fetched again
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { cacheFolder, makeFolder } from "./start.js";

const packages = JSON.parse(readFileSync(new URL("node-packages.json", import.meta.url), "utf8"));

/**
 * Returns the path of a Node that is new enough, which it fetches if necessary. Ends this process on failure.
 */
export function fetchedNode() {
  const platform = `${process.platform}-${process.arch}`;
  const wanted = packages[platform];
  const tooOld = `Dray needs Node 24 or later, and this is Node ${process.versions.node}`;
  if (wanted === undefined)
    fail(`${tooOld}; npm has none for ${platform}. Install Node 24, and run this again with it`);
  if (cacheFolder === undefined)
    fail(`${tooOld}; there is no home directory to keep a fetched one in. Set $XDG_CACHE_HOME or $HOME`);
  const folder = join(cacheFolder, `node-${wanted.version}-${platform}`);
  const node = join(folder, basename(wanted.file));
  if (existsSync(node)) return node;
  process.stderr.write(
    `dray: ${tooOld}: fetching Node ${wanted.version} with npm, once (about 50 MB), into ${folder}\n`,
  );
  try {
    fetch(wanted, folder);
  } catch (error) {
    fail(
      `cannot fetch Node ${wanted.version}: ${error.message}. Run this again where npm works, or with Node 24 or later`,
    );
  }
  return node;
}

/** Puts the program of the package into a folder; other processes may do so at the same time. */
function fetch({ name, version, file, integrity }, folder) {
  makeFolder(cacheFolder);
  const work = mkdtempSync(join(cacheFolder, ".fetch-"));
  try {
    const manifest = { name: "dray-node", private: true, dependencies: { [name]: version } };
    const lockfile = {
      name: "dray-node",
      lockfileVersion: 3,
      packages: {
        "": { dependencies: { [name]: version } },
        [`node_modules/${name}`]: { version, integrity },
      },
    };
    writeFileSync(join(work, "package.json"), JSON.stringify(manifest));
    writeFileSync(join(work, "package-lock.json"), JSON.stringify(lockfile));
    const quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
    const npm = spawnSync("npm", ["ci", "--ignore-scripts", ...quiet], {
      cwd: work,
      env: environment(),
      stdio: ["ignore", 2, 2],
      shell: process.platform === "win32",
    });
    if (npm.error) throw new Error(`cannot run npm: ${npm.error.message}`);
    if (npm.status !== 0) throw new Error("npm ci failed; the lines above say why");
    const program = join(work, "program");
    mkdirSync(program);
    renameSync(join(work, "node_modules", name, file), join(program, basename(file)));
    chmodSync(join(program, basename(file)), 0o755);
    try {
      renameSync(program, folder);
    } catch (error) {
      // Another process was faster.
      if (!existsSync(join(folder, basename(file)))) throw error;
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Without the settings of the npm that has started us (npx, npm run), which are those of the user's project.
 */
function environment() {
  const settings = ["global", "location", "workspace", "workspaces", "omit", "include", "only", "dry_run"];
  const env = { ...process.env };
  for (const name of settings) delete env[`npm_config_${name}`];
  // With it npm prints a warning.
  delete env.NODE_ENV;
  return env;
}

function fail(message) {
  process.stderr.write(`dray: ${message}\n`);
  process.exit(1);
}
