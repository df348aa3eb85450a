// Finds a Node that is new enough and runs a program on it. Runs on Node >= 20.
import { spawn } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import nodeModule from "node:module";
import { constants, homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Reports whether this Node can run Dray itself. */
export const isNewEnough = Number(process.versions.node.split(".")[0]) >= 24;

/** The folder of Dray's caches; undefined if the user has no home. */
export const cacheFolder = (() => {
  const shared = process.env.XDG_CACHE_HOME ?? "";
  try {
    // XDG Base Directory Specification: an empty or relative path counts as unset. A home may be empty, too.
    const folder = isAbsolute(shared) ? shared : join(homedir(), ".cache");
    return isAbsolute(folder) ? join(folder, "dray") : undefined;
  } catch {
    // A user without an entry in the system's user database has no home.
    return undefined;
  }
})();

/**
 * Makes a folder with its parents. `mkdir` with `recursive` never returns if the system reports ENOENT below
 * an existing folder, as in /proc.
 */
export function makeFolder(folder) {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
    const parent = dirname(folder);
    if (error.code !== "ENOENT" || statSync(parent, { throwIfNoEntry: false }) !== undefined) throw error;
    makeFolder(parent);
    makeFolder(folder);
  }
}

/**
 * V8's cache of compiled code, which makes a start about twice as fast. Node would make the folder with
 * `recursive`.
 */
const compileCache = (() => {
  if (cacheFolder === undefined) return undefined;
  const folder = join(cacheFolder, "compile-cache");
  try {
    makeFolder(folder);
    return { NODE_COMPILE_CACHE: folder };
  } catch {
    // The cache is optional.
    return undefined;
  }
})();

/**
 * glibc returns buffers from 16 KiB on to the system when they are freed, as each connection has some
 * (mallopt(3)). Each is a separate mapping; a process may have 65,530. Other systems ignore both variables.
 */
const allocation = { MALLOC_MMAP_THRESHOLD_: "16384", MALLOC_MMAP_MAX_: "20000" };

/** Environment variables of each Node that runs Dray. */
export const environment = { ...compileCache, ...allocation };

/** Returns Node's flags for a command: V8 reads them only at its start. */
export function flagsOf([command]) {
  // With V8's own limits much of the API server's memory is garbage; the other limit is set after the start.
  return command === "apiserver" ? ["--max-semi-space-size=8"] : [];
}

/** Reports whether the command runs a server in this process until it is stopped. */
const serves = ([command, ...options]) =>
  command === "apiserver" || (command === "up" && !options.some((option) => option.startsWith("--detach")));

const lacks = (flags) => flags.some((flag) => !process.execArgv.includes(flag));

/**
 * Restarts this process for a server, with the settings that Node and glibc read only at their start. A Node
 * that is too old starts another one anyway.
 */
export function restartProcess(args) {
  if (!isNewEnough || !serves(args)) return;
  const flags = flagsOf(args);
  if (!lacks(flags) && process.env.MALLOC_MMAP_THRESHOLD_ !== undefined) return;
  const argv = [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)];
  process.execve(process.execPath, argv, { ...environment, ...process.env });
}

/**
 * Runs a program: in this process if it can, otherwise on the Node that `node` finds; then this process exits
 * with the same result.
 */
export async function start(node, flags, file, args) {
  if (!isNewEnough || lacks(flags)) return spawnNode(node(), [...flags, file, ...args]);
  // Child processes inherit them.
  Object.assign(process.env, { ...environment, ...process.env });
  if (process.env.NODE_COMPILE_CACHE) nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE);
  process.argv = [process.argv[0], file, ...args];
  await import(pathToFileURL(file).href);
}

/** Starts a Node with `args`, forwards signals, and exits with its result. */
export function spawnNode(node, args) {
  const child = spawn(node, args, {
    stdio: "inherit",
    env: { ...environment, ...process.env },
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(
      `dray: cannot start ${node}: ${error.message}. Install Node 24 or later, and run this again with it\n`,
    );
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}
