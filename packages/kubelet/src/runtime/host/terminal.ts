import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { RuntimeError } from "../error.ts";
import type { TerminalSize } from "../service.ts";
import { find } from "./isolation.ts";
import type { ProcessStat } from "./processes.ts";

/** The program that makes terminals: Node cannot. Throws if it is not installed. */
function terminalProgram(): string {
  const script = find("script");
  if (script === undefined)
    throw new RuntimeError(
      "RunContainerError",
      "no terminal can be made on this node: the program script of util-linux is not installed",
    );
  return script;
}

/** A command as a line that a shell reads back as the same words. */
export function shellLine(argv: readonly string[]): string {
  return argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}

/**
 * Returns what runs a command in a terminal of its own: `script` stands between the streams and the terminal, prints
 * nothing itself and ends with the exit code of the command. Its environment must not have SHELL.
 */
export function inTerminal(argv: readonly string[]): readonly string[] {
  return [terminalProgram(), "-qefc", `exec ${shellLine(argv)}`, "/dev/null"];
}

/** The device of a process's controlling terminal, which is a pseudo-terminal: their minor numbers name them. */
function terminalDevice({ terminal }: ProcessStat): string | undefined {
  if (terminal === 0) return undefined;
  return `/dev/pts/${(terminal & 0xff) | ((terminal >>> 12) & 0xfff00)}`;
}

/** Gives the terminal of a process each new size, until there are no more. */
export async function followSizes(process: ProcessStat, sizes: AsyncIterable<TerminalSize>): Promise<void> {
  const device = terminalDevice(process);
  for await (const { width, height } of sizes)
    if (device !== undefined)
      // The process may have ended, and its terminal with it.
      await promisify(execFile)("stty", ["-F", device, "rows", `${height}`, "cols", `${width}`]).catch(
        () => {},
      );
}
