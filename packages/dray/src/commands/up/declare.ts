import { type Command, Option } from "commander";
import {
  allowedUnsafeSysctls,
  clusterName,
  dataDir,
  dataOutput,
  enableAdmissionPlugins,
  example,
  featureGates,
  hostNetworkFlag,
  image,
  kubernetesVersion,
  registryHosts,
  repeated,
  runtime,
  runtimeConfig,
} from "../../options/declarations.ts";

/** `dray up` */
export function declareUp(program: Command): void {
  program
    .command("up")
    .description("start a cluster, or continue the one in the data directory")
    .addOption(clusterName())
    .addOption(dataDir())
    .option(
      "--nodes <count>",
      "number of worker nodes (default: what the cluster has; for a new one 2, or 0 with --simulated-nodes)",
    )
    .option(
      "--simulated-nodes <count>",
      "number of additional simulated nodes, which run no containers and report their pods as running; all: those of --fleet (default: what the cluster has)",
    )
    .option("--port <port>", "port of the API server (default: a free one, then the same again)")
    .option(
      "--bind-address <address>",
      "address that the API server listens on; 0.0.0.0 or ::: all of the machine's (default: 127.0.0.1)",
    )
    .option(
      "--advertise-address <address>",
      "where others reach the API server (default: the bind address, or that of this machine)",
    )
    .option(
      "--kubeconfig <file>",
      "add the cluster to this kubeconfig, and make it the current context (default: $KUBECONFIG; without it none)",
    )
    .option("--store <store>", "sqlite:PATH, etcd:URL or memory (default: sqlite in the data directory)")
    .addOption(runtime().default(undefined, "host, or what the cluster has"))
    .addOption(registryHosts().default(undefined, "what the cluster has; none: no longer"))
    .addOption(hostNetworkFlag().default(undefined, "what the cluster has, or node"))
    .addOption(allowedUnsafeSysctls().default(undefined, "what the cluster has; none: no longer"))
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(runtimeConfig())
    .addOption(enableAdmissionPlugins())
    .addOption(image())
    .addOption(
      repeated(
        "--driver <driver>",
        "install a driver and its DeviceClass: NAME[:key=value,...], as in example:devices=4 (example: simulated GPUs, or with profile=net network cards, with profile=cpu CPUs; device-plugin-example: devices by number); may be repeated",
        "none",
      ),
    )
    .option(
      "--fleet <file>",
      "simulate the nodes and devices of a fleet file, or of the output of `kubectl get resourceslices -o yaml`; none: no longer",
    )
    .option(
      "--scheduler-config <file>",
      "a KubeSchedulerConfiguration for the scheduler: profiles, plugins, extenders; none: the defaults again",
    )
    .option("--detach", "return when the cluster is ready and leave it running")
    .addOption(dataOutput())
    .addOption(new Option("--detached").hideHelp())
    .addHelpText(
      "after",
      example("dray up --detach\nexport KUBECONFIG=$(dray status -o kubeconfig)\nkubectl get nodes"),
    )
    .action(async (options) => (await import("./run.ts")).up(options));
}
