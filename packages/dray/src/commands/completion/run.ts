import type { Command } from "commander";
import { bashCompletion } from "./bash.ts";
import { fishCompletion } from "./fish.ts";
import { type CompletedCommand, completionModel } from "./model.ts";
import { zshCompletion } from "./zsh.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

const scripts: Readonly<Record<Shell, (root: CompletedCommand) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** Prints a script that completes the commands of `program` in a shell. */
export function completion(shell: Shell, program: Command): void {
  process.stdout.write(scripts[shell](completionModel(program)));
}
