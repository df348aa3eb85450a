import { spawn } from "node:child_process";
import type { Clock } from "@dray/client";
import { type ExecResult, RuntimeError } from "../service.ts";
import { signal } from "./processes.ts";

const outputLimit = 10 << 10;

/**
 * Runs a command to its end and collects what it prints. After the time-out its whole group is killed and the
 * promise rejects with the reason `ExecTimeout`.
 */
export function runCommand(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  timeoutMilliseconds: number,
  clock: Clock,
): Promise<ExecResult> {
  return new Promise((resolve, reject) => {
    const [program = "", ...args] = command;
    const child = spawn(program, args, { cwd: "/", env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const collect = (chunk: Buffer): void => {
      if (output.length < outputLimit) output = (output + chunk.toString("utf8")).slice(0, outputLimit);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    let expired = false;
    const cancel = clock.after(timeoutMilliseconds, () => {
      expired = true;
      if (child.pid !== undefined) signal(-child.pid, "SIGKILL");
    });
    child.once("error", (error) => {
      cancel();
      reject(new RuntimeError("ExecError", error.message));
    });
    child.once("exit", (code) => {
      cancel();
      // A child that it left behind may hold the pipes open.
      setImmediate(() => {
        child.stdout.destroy();
        child.stderr.destroy();
        if (expired)
          reject(
            new RuntimeError("ExecTimeout", `command timed out after ${timeoutMilliseconds / 1000} seconds`),
          );
        else resolve({ exitCode: code ?? 137, output });
      });
    });
  });
}
