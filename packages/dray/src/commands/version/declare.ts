import type { Command } from "commander";
import { dataOutput, example } from "../../options/declarations.ts";

/** `dray version` */
export function declareVersion(program: Command): void {
  program
    .command("version")
    .description("print the versions of Dray, of Node and of the supported Kubernetes releases")
    .addOption(dataOutput())
    .addHelpText("after", example("dray version -o json"))
    .action(async (options) => (await import("./run.ts")).version(options));
}
