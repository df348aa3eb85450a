import { spawnSync } from "node:child_process";

/**
 * Runs a program to its end and returns what it prints. Throws an error with what it complains of if it
 * fails.
 */
export function output(program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: "utf8",
    maxBuffer: 64 << 20,
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}: ${stderr.trim()}`);
  return stdout.trim();
}

/** Those of the programs that are not in PATH. */
export function missingPrograms(names: readonly string[]): string[] {
  return names.filter((name) => spawnSync("sh", ["-c", `command -v ${name}`]).status !== 0);
}
