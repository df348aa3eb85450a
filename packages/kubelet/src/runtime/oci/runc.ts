import { existsSync, readFileSync, rmSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import type { Wire } from "@dray/api";
import { removeTree } from "../../base/mounts.ts";
import { RuntimeError } from "../error.ts";
import { toolEnvironment } from "../host/environment.ts";
import type { JoiningCommand } from "../host/join.ts";
import { familyMembers, processStat, signal } from "../host/processes.ts";
import { joinScript } from "./scripts.ts";
import type { OciResources } from "./spec.ts";
import { runTool, tool } from "./tools.ts";

/** Properties of the machine's runc. */
export interface RuncFacts {
  readonly version: string;
  readonly seccomp: boolean;
  /** Supports mounts that are read-only recursively. */
  readonly recursiveReadOnly: boolean;
}

/** Minimum version of the kernel for it (mount_setattr(2)). */
const mountSetattrKernel = [5, 12] as const;

function hasMountSetattr(): boolean {
  const [major = 0, minor = 0] = release().split(/[.-]/).map(Number);
  const [wantedMajor, wantedMinor] = mountSetattrKernel;
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/** Calls runc (the interface of opencontainers/runc, which crun and youki share). */
export class Runc {
  /** Folder of runc's state. */
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async facts(): Promise<RuncFacts> {
    const text = await runTool("runc", ["--version"]);
    const version = /version (\S+)/.exec(text)?.[1] ?? "unknown";
    // Versions before 1.1 do not list features; those of Linux distributions have seccomp.
    const features = await runTool("runc", ["features"]).catch(() => "{}");
    const { linux, mountOptions } = JSON.parse(features) as Wire<{
      linux: { seccomp: { enabled: boolean } };
      mountOptions: readonly string[];
    }>;
    return {
      version,
      seccomp: linux?.seccomp?.enabled ?? /libseccomp/.test(text),
      recursiveReadOnly: mountOptions?.includes("rro") === true && hasMountSetattr(),
    };
  }

  /** Command line of runc for a container, without its subcommand. */
  words(directory: string): readonly string[] {
    return [tool("runc"), "--root", this.#root, "--log", join(directory, "runc.log"), "--log-format", "json"];
  }

  /** Ignores a container that has ended or does not exist. */
  async kill(id: string, name: string): Promise<void> {
    await runTool("runc", ["--root", this.#root, "kill", id, name]).catch((error: Error) => {
      if (!/does not exist|not running|process already finished|no such process/.test(error.message))
        throw error;
    });
  }

  /** Kills remaining processes of a container and deletes it. Ignores a missing one. */
  async delete(id: string): Promise<void> {
    await runTool("runc", ["--root", this.#root, "delete", "--force", id]);
  }

  /**
   * Removes the folder of a container that has ended. runc does so itself, except after it was killed during
   * a start, when its own program is still mounted.
   */
  async removeRest(id: string): Promise<void> {
    const folder = join(this.#root, id);
    if (existsSync(folder)) await removeTree(folder);
  }

  async update(id: string, resources: OciResources): Promise<void> {
    await runTool("runc", ["--root", this.#root, "update", "--resources", "-", id], {
      input: JSON.stringify(resources),
    });
  }

  /** Prepares a command in a container: with its root, name spaces, cgroup, user and environment. */
  exec(options: Omit<RuncExecOptions, "root">): RuncExec {
    if (options.command.length === 0) throw new RuntimeError("ExecError", "the command is empty");
    return new RuncExec({ ...options, root: this.#root });
  }
}

interface RuncExecOptions {
  /** Unique among the commands of the container. */
  readonly execId: string;
  /** Folder of the container, where runc leaves its log and the PID. */
  readonly directory: string;
  /** Folder of runc's state. */
  readonly root: string;
  /** The container. */
  readonly id: string;
  readonly command: readonly string[];
  readonly tty: boolean;
}

/** A command in a container. */
export class RuncExec {
  readonly command: JoiningCommand;
  readonly #log: string;
  readonly #pid: string;

  constructor({ execId, directory, root, id, command, tty }: RuncExecOptions) {
    const base = join(directory, `exec-${execId}`);
    this.#log = `${base}.log`;
    this.#pid = `${base}.pid`;
    this.command = {
      argv: [
        "/bin/sh",
        "-c",
        joinScript,
        "exec",
        tool("runc"),
        "--root",
        root,
        "--log",
        this.#log,
        "--log-format",
        "json",
        "exec",
        "--pid-file",
        this.#pid,
        ...(tty ? ["--tty", "--env", "TERM=xterm"] : []),
        id,
        ...command,
      ],
      env: toolEnvironment,
      environment: "",
      user: undefined,
    };
  }

  /** Runs the command by `action`. Rejects with RuntimeError (`ExecError`) if it could not be started. */
  async run<T>(action: () => Promise<T>): Promise<T> {
    try {
      const result = await action();
      this.#check();
      return result;
    } catch (error) {
      this.#kill();
      throw error;
    } finally {
      this.#clean();
    }
  }

  /**
   * Throws a RuntimeError (`ExecError`) if runc could not start the command. Its exit code could be one of a
   * program.
   */
  #check(): void {
    const message = /"msg":("(?:[^"\\]|\\.)*exec failed(?:[^"\\]|\\.)*")/.exec(this.#read(this.#log))?.[1];
    if (message === undefined) return;
    const reason = (JSON.parse(message) as string).replace(/^exec failed: /, "");
    throw new RuntimeError("ExecError", `failed to exec in container: ${reason}`);
  }

  /** Kills the command and its descendants. */
  #kill(): void {
    const pid = Number.parseInt(this.#read(this.#pid), 10);
    const leader = Number.isSafeInteger(pid) ? processStat(pid) : undefined;
    if (leader === undefined) return;
    for (const member of new Set([pid, ...familyMembers({ leaders: [leader] })])) signal(member, "SIGKILL");
  }

  /** Removes the files of the command. */
  #clean(): void {
    for (const path of [this.#log, this.#pid]) rmSync(path, { force: true });
  }

  #read(path: string): string {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return "";
    }
  }
}
