import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { RuntimeError } from "../error.ts";
import type { TerminalSize } from "../service.ts";
import { find } from "./isolation.ts";
import type { ProcessStat } from "./processes.ts";

/** The program that makes terminals, which Node cannot. Throws if it is not installed. */
function terminalProgram(): string {
  const script = find("script");
  if (script === undefined)
    throw new RuntimeError(
      "RunContainerError",
      "no terminal can be made on this node: the program script of util-linux is not installed",
    );
  return script;
}

/** Quotes a command for a shell. */
export function shellLine(argv: readonly string[]): string {
  return argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}

/**
 * Returns a command that runs another one in a terminal of its own: `script` stands between the streams and
 * the terminal, prints nothing itself and ends with the exit code of the command. Its environment must not
 * have SHELL.
 */
export function inTerminal(argv: readonly string[]): readonly string[] {
  return [terminalProgram(), "-qefc", `exec ${shellLine(argv)}`, "/dev/null"];
}

/** Device of a process's controlling terminal, a pseudo-terminal that is named by its minor number. */
function terminalDevice({ terminal }: ProcessStat): string | undefined {
  if (terminal === 0) return undefined;
  return `/dev/pts/${(terminal & 0xff) | ((terminal >>> 12) & 0xfff00)}`;
}

/** Sets each new size of a process's terminal. */
export async function followSizes(process: ProcessStat, sizes: AsyncIterable<TerminalSize>): Promise<void> {
  const device = terminalDevice(process);
  for await (const { width, height } of sizes)
    if (device !== undefined)
      // The process and its terminal may have ended.
      await promisify(execFile)("stty", ["-F", device, "rows", `${height}`, "cols", `${width}`]).catch(
        () => {},
      );
}
