import { type Command, Option } from "commander";
import { clusterName, dataDir, example } from "../../options/declarations.ts";

/** `dray status` */
export function declareStatus(program: Command): void {
  program
    .command("status")
    .description("show the state of the cluster: processes, nodes, drivers, and where its logs are")
    .addOption(clusterName())
    .addOption(dataDir())
    .addOption(new Option("-o, --output <format>", "output format").choices(["json", "yaml", "kubeconfig"]))
    .addHelpText(
      "after",
      `${example("dray status\ndray status -o json | jq -r '.nodes[] | select(.ready | not) | .name'\nexport KUBECONFIG=$(dray status -o kubeconfig)")}
Exit codes: 0 the cluster runs and all its nodes are ready, 1 anything else (there is none, it is stopped, it starts, a
process is dead, the API server does not respond, a node is not ready), 2 wrong usage. -o kubeconfig prints the path of
the file, and exits with 0 if the cluster's process runs.
`,
    )
    .action(async (options) => (await import("./run.ts")).status(options));
}
