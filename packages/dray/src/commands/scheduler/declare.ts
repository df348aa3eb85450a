import { type Command, Option } from "commander";
import { context, example, featureGates, kubeconfig, kubernetesVersion } from "../../options/declarations.ts";

/** `dray scheduler` */
export function declareScheduler(program: Command): void {
  program
    .command("scheduler")
    .description("run the scheduler against a cluster")
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .option("--config <file>", "KubeSchedulerConfiguration: profiles, plugins and their arguments, extenders")
    .addOption(
      new Option(
        "--scheduler-name <name>",
        "schedule the pods of this spec.schedulerName (default: default-scheduler)",
      ).conflicts("config"),
    )
    .option(
      "--leader-elect [boolean]",
      "run only while holding a lease (default: as --config says, else false)",
    )
    .option("--leader-elect-resource-name <name>", "name of the lease (default: kube-scheduler)")
    .option("--leader-elect-resource-namespace <namespace>", "its namespace (default: kube-system)")
    .option(
      "--leader-elect-lease-duration <duration>",
      "how long other candidates wait for a renewal (default: 15s)",
    )
    .option("--leader-elect-renew-deadline <duration>", "how long the holder tries to renew (default: 10s)")
    .option("--leader-elect-retry-period <duration>", "time between two tries (default: 2s)")
    .option("--port <port>", "port of /metrics, /healthz, /livez and /readyz over HTTP (default: none)")
    .option("--bind-address <address>", "where that port listens", "127.0.0.1")
    .addHelpText(
      "after",
      example(
        "dray scheduler --kubeconfig ./state/kubeconfig\ndray scheduler --config scheduler.yaml --port 10259",
      ),
    )
    .action(async (options) => (await import("./run.ts")).scheduler(options));
}
