import type { Command } from "commander";
import { clusterName, dataDir, dataOutput, example } from "../../options/declarations.ts";

/** `dray logs` */
export function declareLogs(program: Command): void {
  program
    .command("logs")
    .description("print what the components of a cluster have logged, merged in the order of time")
    .argument(
      "[component...]",
      "cluster, apiserver, scheduler, controller-manager, kubelet, kubelet/NODE or output",
    )
    .addOption(clusterName())
    .addOption(dataDir())
    .option("-f, --follow", "go on with new lines until Ctrl-C")
    .option("--since <time>", "only lines since a time: 10m, 1h30m, 2026-01-31T08:00:00Z (default: all)")
    .option("--tail <lines>", "number of last lines to print (default: all)")
    .addOption(dataOutput())
    .addHelpText(
      "after",
      `${example("dray logs -f\ndray logs scheduler --since 10m\ndray logs kubelet/worker-1 --tail 20")}
kubelet is the agents of all nodes, kubelet/worker-1 or worker-1 that of one. cluster is starts and stops, output what
a detached cluster printed outside of its logs. Times are local ones; -v adds the stacks of errors. Pods, drivers among
them, have logs of their own: kubectl logs.
`,
    )
    .action(async (names, options) => (await import("./run.ts")).logs(names, options));
}
