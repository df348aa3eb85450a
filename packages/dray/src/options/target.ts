import { accessSync, constants, statSync } from "node:fs";
import { basename } from "node:path";
import {
  checkClusterName,
  clusterNames,
  DamagedConfigError,
  dataDirOf,
  defaultName,
  type Layout,
  layoutOf,
  readConfig,
  runningProcess,
} from "@dray/cluster";
import { UsageError } from "../terminal/failure.ts";
import { remark } from "../terminal/verbosity.ts";
import { shellWord } from "../text/shell.ts";

/** The flags that select a cluster. */
export interface TargetFlags {
  readonly name?: string;
  readonly dataDir?: string;
}

export interface Target {
  readonly name: string;
  readonly layout: Layout;
}

/**
 * Returns the cluster of the flags: by its data directory, by its name, by $DRAY_DATA_DIR, or the default
 * one. Rejects a name that differs from that of the data directory.
 */
export function target(flags: TargetFlags, env: NodeJS.ProcessEnv = process.env): Target {
  const { name } = flags;
  if (name !== undefined) checkName(name);
  // A flag has precedence over the environment.
  const inherited = name === undefined ? env["DRAY_DATA_DIR"] || undefined : undefined;
  const layout = layoutOf(flags.dataDir ?? inherited ?? dataDirOf(name ?? defaultName, env));
  checkDataDir(layout.dataDir);
  const known = readConfig(layout)?.name;
  if (name !== undefined && known !== undefined && known !== name) {
    throw new UsageError(`--name ${name}: the cluster in ${layout.dataDir} is named ${known}`);
  }
  return { name: known ?? name ?? defaultName, layout };
}

/**
 * `target` for commands that need no configuration: they warn of a damaged one, and the name is that of the
 * flag or of the folder.
 */
export function targetDespiteDamage(flags: TargetFlags, env: NodeJS.ProcessEnv = process.env): Target {
  try {
    return target(flags, env);
  } catch (error) {
    if (!(error instanceof DamagedConfigError)) throw error;
    remark(`warning: ${error.message}\n`);
    const inherited = flags.name === undefined ? env["DRAY_DATA_DIR"] || undefined : undefined;
    const layout = layoutOf(flags.dataDir ?? inherited ?? dataDirOf(flags.name ?? defaultName, env));
    const folder = basename(layout.dataDir);
    const isNamed = layoutOf(dataDirOf(folder, env)).dataDir === layout.dataDir;
    return { name: flags.name ?? (isNamed ? folder : defaultName), layout };
  }
}

/** Throws for an existing path that cannot be a data directory, instead of taking it for a missing one. */
function checkDataDir(dataDir: string): void {
  const refuse = (why: string): Error =>
    new Error(`the data directory ${dataDir} ${why}: name another with --data-dir`);
  try {
    if (!statSync(dataDir).isDirectory()) throw refuse("must be a folder, and is a file");
    accessSync(dataDir, constants.R_OK | constants.X_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return;
    if (code === "ENOTDIR") throw refuse("lies below a file");
    if (code === "EACCES") throw refuse("cannot be read: permission denied");
    throw error;
  }
}

function checkName(name: string): void {
  try {
    checkClusterName(name);
  } catch (error) {
    throw new UsageError(`--name ${name}: ${(error as Error).message}`);
  }
}

/**
 * Returns lines with the user's other clusters, for a command without a cluster in flags or environment;
 * otherwise "".
 */
export function listOfOthers(flags: TargetFlags, env: NodeJS.ProcessEnv = process.env): string {
  if (flags.name !== undefined || flags.dataDir !== undefined || env["DRAY_DATA_DIR"]) return "";
  const others = clusterNames(env).filter((name) => name !== defaultName);
  if (others.length === 0) return "";
  const width = Math.max(...others.map((name) => name.length));
  const lines = others.map((name) => {
    const running = runningProcess(layoutOf(dataDirOf(name, env)).processFile) !== undefined;
    return `  ${name.padEnd(width)}  ${running ? "running" : "stopped"}\n`;
  });
  return `\nOther clusters, for --name:\n${lines.join("")}`;
}

/** `npx dray` for users of npx, which npm shows in the environment. */
function programName(env: NodeJS.ProcessEnv = process.env): string {
  return env["npm_lifecycle_event"] === "npx" ? "npx dray" : "dray";
}

/**
 * Returns a command for that cluster as this user types it: `dray down`, `npx dray down --name ci`. `rest`
 * are its other arguments.
 */
export function commandText(
  layout: Layout,
  command: string,
  rest = "",
  env: NodeJS.ProcessEnv = process.env,
): string {
  const words = [programName(env), command, rest, clusterFlag(layout.dataDir, env)];
  return `\`${words.filter((word) => word !== "").join(" ")}\``;
}

/** Returns the flag that names the cluster; "" for the default one. */
function clusterFlag(dataDir: string, env: NodeJS.ProcessEnv): string {
  const isOf = (folder: string): boolean => layoutOf(folder).dataDir === dataDir;
  if (isOf(env["DRAY_DATA_DIR"] || dataDirOf(defaultName, env))) return "";
  const name = basename(dataDir);
  return isOf(dataDirOf(name, env)) ? `--name ${name}` : `--data-dir ${shellWord(dataDir)}`;
}

export function noCluster(layout: Layout): Error {
  return new Error(`there is no cluster in ${layout.dataDir}: ${commandText(layout, "up")} makes one`);
}
