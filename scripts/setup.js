// Installs what the lockfile names, if that has not been done since the lockfile last changed. Runs on Node >= 20.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const repository = dirname(dirname(fileURLToPath(import.meta.url)));
const lockfile = join(repository, "package-lock.json");
const mark = join(repository, "node_modules", ".dray-setup");

/** Makes `node_modules` match the lockfile; does nothing when it already does. */
export function setup() {
  if (!existsSync(lockfile)) return;
  const digest = createHash("sha256").update(readFileSync(lockfile)).digest("hex");
  if (existsSync(mark) && readFileSync(mark, "utf8") === digest) return;
  process.stderr.write("dray: installing dependencies (npm ci) ...\n");
  const npm = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: repository,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (npm.status !== 0) {
    process.stderr.write("dray: npm ci failed; the lines above say why\n");
    process.exit(1);
  }
  writeFileSync(mark, digest);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setup();
