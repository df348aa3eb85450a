import { spawn } from "node:child_process";
import { closeSync, constants, opendirSync, openSync, rmdirSync, unlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

/** Limits of a small folder, which is removed within the process. */
const small = { files: 100, depth: 20 };

/**
 * Removes a folder and its contents, or a file; ignores a missing one. A large one is removed by rm(1), since
 * Node's `rm` stops its process for as long as it takes (`rmSync`), or takes a kilobyte for each file
 * (`promises.rm`), and neither enters paths of more than 4095 bytes. Rejects with the path and rm's own
 * words; what could be removed is gone then.
 */
export async function removeFolder(path: string): Promise<void> {
  if (removesQuickly(path)) return;
  const problem = await run("rm", ["-rf", "--", path]);
  if (problem === undefined) return;
  // A system without rm(1).
  if (problem === missingProgram) return await rm(path, { recursive: true, force: true });
  // A user other than root cannot empty a folder of their own without its permissions.
  if (process.geteuid?.() !== 0) {
    await run("chmod", ["-R", "u+rwX", "--", path]);
    if ((await run("rm", ["-rf", "--", path])) === undefined) return;
  }
  throw new Error(`cannot remove ${path}: ${problem}`);
}

/** Removes a small folder. Returns false if something of it is left. */
function removesQuickly(path: string): boolean {
  try {
    return new SmallFolder().remove(path, 0);
  } catch {
    // rm(1) reports the error.
    return false;
  }
}

class SmallFolder {
  #left = small.files;

  /** Throws the system's error. Follows no link, even if one takes the place of a folder meanwhile. */
  remove(path: string, depth: number): boolean {
    const file = openFolder(path);
    if (file === "missing") return true;
    if (file === "file") unlessMissing(unlinkSync, path);
    else {
      try {
        const here = process.platform === "linux" ? `/proc/self/fd/${file}` : path;
        if (!this.#empty(here, depth)) return false;
      } finally {
        closeSync(file);
      }
      unlessMissing(rmdirSync, path);
    }
    return true;
  }

  #empty(path: string, depth: number): boolean {
    const folder = opendirSync(path);
    try {
      for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
        if (this.#left-- === 0 || depth === small.depth) return false;
        const inner = join(path, entry.name);
        if (!entry.isDirectory()) unlessMissing(unlinkSync, inner);
        else if (!this.remove(inner, depth + 1)) return false;
      }
      return true;
    } finally {
      folder.closeSync();
    }
  }
}

/** Another process may remove the same folder. */
function unlessMissing(remove: (path: string) => void, path: string): void {
  try {
    remove(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function openFolder(path: string): number | "file" | "missing" {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  try {
    return openSync(path, O_RDONLY | (O_DIRECTORY ?? 0) | (O_NOFOLLOW ?? 0));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return "missing";
    if (code === "ENOTDIR" || code === "ELOOP" || code === "EMLINK") return "file";
    throw error;
  }
}

/** Runs a program of the system. Returns why it failed. */
async function run(program: string, args: readonly string[]): Promise<string | undefined> {
  const child = spawn(program, args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" },
  });
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    if (text.length < maxProblem) text += chunk;
  });
  return await new Promise((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code === "ENOENT" ? missingProgram : error.message),
    );
    child.once("close", (code, signal) => {
      const [first = ""] = text.split("\n");
      resolve(code === 0 ? undefined : first || `${program} ended with ${code ?? signal}`);
    });
  });
}

const maxProblem = 1000;
const missingProgram = "the program does not exist";
