import { wrapText } from "../text/wrap.ts";
import { lineWidth, printText } from "./print-text.ts";

/** Verbosity: -1 data and errors, 0 messages too, 1 details, 2 and more stack traces. */
let level = 0;

export interface VerbosityFlags {
  /** Number of times that it was given. */
  readonly verbose: number;
  readonly quiet?: boolean;
}

/** Commands that log to standard error. */
const components = ["apiserver", "scheduler", "controller-manager", "kubelet"];

/**
 * Sets the verbosity of this process and its children. The flags have precedence over $DRAY_LOG_LEVEL.
 * `--quiet` concerns the terminal: log files do not change.
 */
export function applyVerbosity(flags: VerbosityFlags, command: string): void {
  level = flags.quiet ? -1 : flags.verbose;
  if (level > 0) process.env["DRAY_LOG_LEVEL"] = "debug";
  else if (level < 0 && components.includes(command)) process.env["DRAY_LOG_LEVEL"] = "error";
}

export const verbosity = (): number => level;

/** Prints a message on standard output, unless the user wants data and errors only. */
export function say(text: string): void {
  if (level >= 0) printText(text);
}

/** Prints a remark beside the data on standard error, unless the user wants data and errors only. */
export function remark(text: string): void {
  if (level >= 0) process.stderr.write(wrapText(text, lineWidth(process.stderr)));
}
