// Finds a Node that is new enough and runs a program on it. Runs on Node >= 20.
import { spawn } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import nodeModule from "node:module";
import { constants, homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";

/** This Node can run Dray itself. */
export const isNewEnough = Number(process.versions.node.split(".")[0]) >= 24;

/** The folder of what Dray keeps between runs and can make again; undefined where the user has no home. */
export const cacheFolder = (() => {
  const shared = process.env.XDG_CACHE_HOME ?? "";
  try {
    // XDG Base Directory Specification: an empty or relative path counts as unset. A home may be empty, too.
    const folder = isAbsolute(shared) ? shared : join(homedir(), ".cache");
    return isAbsolute(folder) ? join(folder, "dray") : undefined;
  } catch {
    // A user without an entry in the system's list of users has none.
    return undefined;
  }
})();

/**
 * Makes a folder with its parents. `mkdir` with `recursive` never returns where the system says ENOENT below
 * a folder that exists, as in /proc.
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
 * Where V8 keeps compiled code; it makes a start about twice as fast. Node would make the folder with
 * `recursive`.
 */
const compileCache = (() => {
  if (cacheFolder === undefined) return undefined;
  const folder = join(cacheFolder, "compile-cache");
  try {
    makeFolder(folder);
    return { NODE_COMPILE_CACHE: folder };
  } catch {
    // It works without one.
    return undefined;
  }
})();

/**
 * Buffers from 16 KiB on, as each connection has some, go back to the system when they are freed: glibc would
 * keep them between what stays (mallopt(3)). Each is a mapping of its own, of which a process may have
 * 65,530. Other systems know neither variable.
 */
const allocation = { MALLOC_MMAP_THRESHOLD_: "16384", MALLOC_MMAP_MAX_: "20000" };

/** Variables of the environment of each Node that runs Dray. */
export const environment = { ...compileCache, ...allocation };

/** Flags that Node takes for a command: V8 reads them only at its start. */
export function flagsOf([command]) {
  // With V8's own limits a good part of the API server's memory is garbage; the other is set when it has
  // started.
  return command === "apiserver" ? ["--max-semi-space-size=8"] : [];
}

/** The command is a server in this process until it is stopped. */
const serves = ([command, ...options]) =>
  command === "apiserver" || (command === "up" && !options.some((option) => option.startsWith("--detach")));

const lacks = (flags) => flags.some((flag) => !process.execArgv.includes(flag));

/**
 * Begins this process anew for a command that serves, with what Node and glibc read only at their start. A
 * Node that is too old starts another one anyway.
 */
export function beginAnew(args) {
  if (!isNewEnough || !serves(args)) return;
  const flags = flagsOf(args);
  if (!lacks(flags) && process.env.MALLOC_MMAP_THRESHOLD_ !== undefined) return;
  const argv = [process.execPath, ...process.execArgv, ...flags, ...process.argv.slice(1)];
  process.execve(process.execPath, argv, { ...environment, ...process.env });
}

/**
 * Runs a program: in this process where that is possible, else on `node`, a function that finds a Node that
 * is new enough; then this process ends as that one ends.
 */
export async function start(node, flags, file, args) {
  if (!isNewEnough || lacks(flags)) return spawnNode(node(), [...flags, file, ...args]);
  // For the processes that it starts, too.
  Object.assign(process.env, { ...environment, ...process.env });
  if (process.env.NODE_COMPILE_CACHE) nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE);
  process.argv = [process.argv[0], file, ...args];
  await import(pathToFileURL(file).href);
}

/** Starts a Node with `args`, hands signals on, and exits as it exits. */
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
