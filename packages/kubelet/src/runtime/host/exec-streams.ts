import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { RuntimeError } from "../error.ts";
import type { ClientStreams } from "../service.ts";
import { giveEnvironment } from "./exec.ts";
import type { JoiningCommand } from "./join.ts";
import { killFamily } from "./kill.ts";
import { makePipes, openPipe, type Pipe } from "./pipes.ts";
import type { User } from "./privileges.ts";
import { type ProcessStat, parseStat, processStat } from "./processes.ts";
import { followSizes, inTerminal } from "./terminal.ts";

/** Marks the processes of a command in a container, whatever they do to their session. */
const execVariable = "DRAY_EXEC_ID";

/** Opens a pipe `PATH-N` for each standard stream of the client; the others are /dev/null. */
async function standardPipes(
  path: string,
  wanted: readonly boolean[],
  user: User | undefined,
): Promise<StandardPipes> {
  const names = wanted.map((want, index) => (want ? `${path}-${index}` : undefined));
  await makePipes(
    names.filter((name) => name !== undefined),
    user,
  );
  return names.map((name, index) =>
    name === undefined ? undefined : openPipe(name, index === 0 ? "to program" : "from program"),
  );
}

type StandardPipes = readonly (Pipe | undefined)[];

/** Starts a program with its ends of the pipes, and the descriptors 3 and 4 of `JoiningCommand`. */
function spawnOn(pipes: StandardPipes, { argv, env, environment }: JoiningCommand): ChildProcess {
  const [program = "", ...args] = argv;
  const [input = "ignore", output = "ignore", errors = "ignore"] = pipes.map((pipe) => pipe?.theirs);
  try {
    const child = spawn(program, args, {
      cwd: "/",
      env: { ...env },
      detached: true,
      stdio: [input, output, errors, "pipe", "pipe"],
    });
    giveEnvironment(child, environment);
    return child;
  } finally {
    for (const pipe of pipes) if (pipe !== undefined) closeSync(pipe.theirs);
  }
}

/** A command in a container with the streams of a client. */
export interface StreamedCommand {
  /** Unique on the machine: it marks the processes of the command. */
  readonly id: string;
  readonly command: JoiningCommand;
  readonly tty: boolean;
  readonly streams: ClientStreams;
  /** Folder for pipes, which are removed as soon as the command runs. */
  readonly directory: string;
  /** Kills the command with all its descendants. */
  readonly signal: AbortSignal;
}

/**
 * Runs a command with the streams of a client. Resolves with its exit code (128 and the signal's number after
 * a signal) when it has ended and its outputs have no writer any more.
 */
export async function runWithStreams(options: StreamedCommand): Promise<number> {
  const { id, command, tty, streams, directory, signal } = options;
  const program = {
    ...command,
    argv: tty ? inTerminal(command.argv) : command.argv,
    env: { ...command.env, [execVariable]: id },
  };
  // A terminal always has an input: its end would be typed into the terminal.
  const wanted = [
    tty || streams.stdin !== undefined,
    streams.stdout !== undefined,
    !tty && streams.stderr !== undefined,
  ];
  const pipes = await standardPipes(join(directory, `exec-${id}`), wanted, command.user);
  const [stdin, stdout, stderr] = pipes.map((pipe) => pipe?.ours);
  const child = spawnOn(pipes, program);
  const exited = new Promise<number>((resolve, reject) => {
    child.once("error", (error) => reject(new RuntimeError("ExecError", error.message)));
    child.once("exit", (code, name) => resolve(code ?? 128 + (name === null ? 0 : constants.signals[name])));
  });
  const leader = child.pid === undefined ? undefined : processStat(child.pid);
  const kill = (): void => {
    if (leader !== undefined) void killFamily({ leaders: [leader], variable: `${execVariable}=${id}` });
    for (const pipe of pipes) pipe?.ours.destroy();
  };
  signal.addEventListener("abort", kill, { once: true });
  try {
    if (leader === undefined) return await exited;
    signal.throwIfAborted();
    const work = Promise.all([
      exited,
      startOf(child.stdio[3] as Readable).then((started) => {
        if (streams.resize !== undefined) void followSizes(started, streams.resize).catch(() => {});
      }),
      copyOutput(stdout, streams.stdout),
      copyOutput(stderr, streams.stderr),
    ]);
    if (stdin !== undefined && streams.stdin !== undefined) copyInput(streams.stdin, stdin, tty);
    const [code] = await work;
    if (signal.aborted) throw gone();
    return code;
  } catch (error) {
    kill();
    throw signal.aborted ? gone() : error;
  } finally {
    signal.removeEventListener("abort", kill);
    for (const pipe of pipes) pipe?.ours.destroy();
  }
}

function gone(): RuntimeError {
  return new RuntimeError("ExecCanceled", "the client has gone");
}

/** Resolves with the program's process when it runs; rejects with what prevented it. */
async function startOf(report: Readable): Promise<ProcessStat> {
  let text = "";
  for await (const chunk of report.setEncoding("utf8")) {
    text += chunk as string;
    // More output follows as long as the terminal lasts.
    const started = parseStat(/^started (.*)\n/m.exec(text)?.[1] ?? "");
    if (started !== undefined) return started;
  }
  const reason = text.trim() || "its shell has failed";
  throw new RuntimeError("ExecError", `unable to start container process: ${reason}`);
}

async function copyOutput(from: Socket | undefined, to: Writable | undefined): Promise<void> {
  if (from !== undefined && to !== undefined) await pipeline(from, to);
}

/** When the program reads no more, the rest is discarded, so that the client is not blocked. */
function copyInput(from: Readable, to: Socket, tty: boolean): void {
  const discard = (): void => {
    from.unpipe(to);
    from.resume();
  };
  to.once("error", discard);
  to.once("close", discard);
  // A terminal's input has no end: programs in it get a typed character.
  from.pipe(to, { end: !tty });
}
