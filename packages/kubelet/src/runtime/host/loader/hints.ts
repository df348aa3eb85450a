import { accessSync, closeSync, constants, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { ContainerConfig } from "../../config.ts";
import { loopbackOf } from "../addresses.ts";
import { toolEnvironment } from "../environment.ts";
import { containerWords, type ImageMapping, programFolder } from "../images.ts";
import type { ContainerRecord, SandboxRecord } from "../records.ts";
import { rewriter } from "../rewrite.ts";
import { listenFailure, listenHint } from "./failure-hint.ts";
import { inspectProgram } from "./program-file.ts";
import { type ProgramLimit, programLimit } from "./program-limit.ts";

/** Finds the limit of a container without a mount name space. */
export function limitOfContainer(
  config: ContainerConfig,
  image: ImageMapping | undefined,
): ProgramLimit | undefined {
  const words = containerWords(image, config);
  const rewrite = rewriter(config.mounts);
  const values = config.env.map(([, value]) => value);
  const path = config.env.findLast(([name]) => name === "PATH")?.[1] ?? toolEnvironment["PATH"] ?? "";
  const folders = [programFolder(image) ?? "", ...path.split(":")].filter((folder) => folder !== "");
  const find = (name: string): string | undefined =>
    name.includes("/")
      ? rewrite(name)
      : folders.map((folder) => rewrite(join(folder, name))).find(isExecutable);
  return programLimit({
    program: inspectProgram(words[0] ?? "", find),
    mounts: config.mounts,
    values: [...words, ...values],
    exists: existsSync,
    rewrite,
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Explains why a program has failed, if the machine lacks something for it. */
export function hintOf(
  { config, limit }: ContainerRecord,
  sandbox: SandboxRecord | undefined,
  firstFreePort: number,
): string | undefined {
  const failure = listenFailure(endOf(config.logPath));
  const ip = sandbox?.ip;
  const addresses =
    ip === undefined ? [] : sandbox?.config.hostNetwork ? [ip] : [ip, loopbackOf(ip), "127.0.0.1"];
  const declaredPorts = config.ports ?? [];
  const hint = failure && listenHint(failure, { addresses, declaredPorts, firstFreePort });
  return hint ?? limit?.text;
}

const maxLogBytes = 4096;

function endOf(path: string): string {
  try {
    const file = openSync(path, "r");
    try {
      const buffer = Buffer.alloc(maxLogBytes);
      const start = Math.max(0, fstatSync(file).size - maxLogBytes);
      return buffer.toString("utf8", 0, readSync(file, buffer, 0, maxLogBytes, start));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}
