import type { Command } from "commander";
import { clusterName, dataDir, example } from "../../options/declarations.ts";

/** `dray down` */
export function declareDown(program: Command): void {
  program
    .command("down")
    .description("stop the cluster; its data stays, so that `dray up` continues")
    .addOption(clusterName())
    .addOption(dataDir())
    .option("--delete-data", "delete the data directory too")
    .addHelpText("after", example("dray down"))
    .action(async (options) => (await import("./run.ts")).down(options));
}
