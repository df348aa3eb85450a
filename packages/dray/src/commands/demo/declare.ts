import type { Command } from "commander";
import { example } from "../../options/declarations.ts";

/** `dray demo` */
export function declareDemo(program: Command): void {
  program
    .command("demo")
    .description("run the tutorial on a separate cluster, and remove it")
    .option("--pause", "wait for Enter after each step")
    .addHelpText("after", example("dray demo"))
    .action(async (options) => (await import("./run.ts")).demo(options));
}
