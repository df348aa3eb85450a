// Finds a Node that is new enough and runs a program on it. Runs on Node >= 20.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import nodeModule, { createRequire } from "node:module";
import { constants, homedir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** This Node can run Dray itself. */
const isNewEnough = Number(process.versions.node.split(".")[0]) >= 24;

/** Where V8 keeps compiled code between runs; it makes a start about twice as fast. */
const compileCache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "dray", "compile-cache");

/** The path of a Node that is new enough: this one, else the one that @dray/node brings. */
export function newNode() {
  if (isNewEnough) return process.execPath;
  const brought = broughtNode();
  if (brought !== undefined) return brought;
  throw new Error(
    `Dray needs Node 24 or later, and this is Node ${process.versions.node}. npm installs a Node 24 with it for Linux, macOS and Windows, unless optional dependencies are left out; there is none here for ${process.platform}-${process.arch}. Run "npm install @dray/node" beside it, or install Node 24`,
  );
}

/** The Node of @dray/node for this platform: npm has installed one of its optional dependencies, or none. */
function broughtNode() {
  const manifest = resolved(import.meta.url, "@dray/node");
  if (manifest === undefined) return undefined;
  for (const name of Object.keys(read(manifest).optionalDependencies)) {
    const file = resolved(manifest, name);
    if (file === undefined) continue;
    const { os, cpu, bin } = read(file);
    if ([os].flat().includes(process.platform) && [cpu].flat().includes(process.arch))
      return join(dirname(file), bin.node);
  }
  return undefined;
}

const read = (file) => JSON.parse(readFileSync(file, "utf8"));

/** The package.json of a package as a file sees it. */
function resolved(from, name) {
  try {
    return createRequire(from).resolve(`${name}/package.json`);
  } catch {
    return undefined;
  }
}

/** Flags that Node takes for a command: V8 reads them only at its start. */
export function flagsOf([command]) {
  // With V8's own limits a good part of the API server's memory is garbage; the other is set when it has started.
  return command === "apiserver" ? ["--max-semi-space-size=8"] : [];
}

/** Runs a program, in this process where that is possible; else this process ends as that one ends. */
export async function start(flags, file, args) {
  process.env.NODE_COMPILE_CACHE ??= compileCache;
  if (!isNewEnough || flags.length > 0) return spawnNode([...flags, file, ...args]);
  nodeModule.enableCompileCache(process.env.NODE_COMPILE_CACHE);
  process.argv = [process.argv[0], file, ...args];
  await import(pathToFileURL(file).href);
}

/** Starts a Node that is new enough with `args`, hands signals on, and exits as it exits. */
export function spawnNode(args) {
  process.env.NODE_COMPILE_CACHE ??= compileCache;
  let node;
  try {
    node = newNode();
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
  const child = spawn(node, args, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(
      `dray: cannot start ${node}: ${error.message}. Install Node 24 or later, and run this again with it\n`,
    );
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
}
