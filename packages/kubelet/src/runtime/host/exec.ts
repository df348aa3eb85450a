import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "@dray/client";
import { RuntimeError } from "../error.ts";
import type { ExecResult } from "../service.ts";
import type { JoiningCommand } from "./join.ts";
import { killFamily } from "./kill.ts";
import { processStat } from "./processes.ts";

const outputLimit = 10 << 10;

/**
 * Runs a command to its end and collects its output. After the timeout its processes are killed and the
 * promise rejects with the reason `ExecTimeout`.
 */
export function runCommand(
  { argv, env, environment }: JoiningCommand,
  timeoutMilliseconds: number,
  clock: Clock,
): Promise<ExecResult> {
  return new Promise((resolve, reject) => {
    const [program = "", ...args] = argv;
    const stdio: StdioOptions = ["ignore", "pipe", "pipe", "pipe", "pipe"];
    const child = spawn(program, args, { cwd: "/", env, detached: true, stdio });
    giveEnvironment(child, environment);
    const leader = child.pid === undefined ? undefined : processStat(child.pid);
    const outputs = child.stdio.slice(1, 4) as [Readable, Readable, Readable];
    let output = "";
    let received = 0;
    const collect = (chunk: Buffer): void => {
      received += chunk.length;
      if (output.length < outputLimit) output = (output + chunk.toString("utf8")).slice(0, outputLimit);
    };
    const [stdout, stderr, report] = outputs;
    for (const stream of [stdout, stderr]) stream.on("data", collect);
    report.on("data", (chunk: Buffer) => {
      if (!chunk.toString("latin1").startsWith("started ")) collect(chunk);
    });
    let expired = false;
    const cancel = clock.after(timeoutMilliseconds, () => {
      expired = true;
      if (leader !== undefined) void killFamily({ leaders: [leader] });
    });
    child.once("error", (error) => {
      cancel();
      reject(new RuntimeError("ExecError", error.message));
    });
    child.once("exit", (code) => {
      cancel();
      const finish = (): void => {
        for (const stream of outputs) stream.destroy();
        if (expired)
          reject(
            new RuntimeError("ExecTimeout", `command timed out after ${timeoutMilliseconds / 1000} seconds`),
          );
        else resolve({ exitCode: code ?? 137, output });
      };
      // A remaining child may hold the pipes open: they are empty when a whole turn of the event loop
      // brought nothing.
      const drain = (before: number): void => {
        setImmediate(() => {
          if (received === before || output.length >= outputLimit) finish();
          else drain(received);
        });
      };
      setImmediate(() => drain(received));
    });
  });
}

/** Writes the environment of the program to file descriptor 4 of the tool that joins a container. */
export function giveEnvironment(child: ChildProcess, environment: string): void {
  const pipe = child.stdio[4] as Writable;
  // An earlier failure is reported on file descriptor 3.
  pipe.on("error", () => {});
  pipe.end(environment);
}
