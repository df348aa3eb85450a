import type { Command } from "commander";

/** `dray kubectl` */
export function declareKubectl(program: Command): void {
  program
    .command("kubectl", { hidden: true })
    .description("the few verbs of kubectl that the demo needs, for machines without kubectl")
    .argument("[arguments...]")
    .allowUnknownOption()
    .helpOption(false)
    .action(async (_args, _options, command: Command) => (await import("./run.ts")).kubectl(command.args));
}
