import type { Command } from "commander";
import { context, example, featureGates, kubeconfig, kubernetesVersion } from "../../options/declarations.ts";

/** `dray simulated-nodes` */
export function declareSimulatedNodes(program: Command): void {
  program
    .command("simulated-nodes")
    .description("simulate nodes of a cluster, which run no containers and report their pods as running")
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .option("--count <count>", "number of nodes: simulated-1 and so on (default: 0)")
    .option("--fleet <file>", "simulate the nodes and devices of a fleet file, as for `dray up`")
    .option(
      "--address <address>",
      "address of the nodes, where HTTPS requests of the API server get the answer that no container runs",
      "127.0.0.1",
    )
    .option(
      "--tls-cert-file <file>",
      "serving certificate at this address, for API servers that verify those of kubelets (default: self-signed)",
    )
    .option("--tls-private-key-file <file>", "its key")
    .addHelpText(
      "after",
      `${example("dray simulated-nodes --kubeconfig admin.conf --count 500 --fleet fleet.yaml")}
Nodes stay when it ends, and become NotReady: kubectl delete nodes -l dray.dev/simulated removes them. The user may list,
watch and create Nodes, patch their status and that of Pods, list, watch and delete Pods, create and patch Leases in
kube-node-lease and Events, list and watch ResourceClaims; with a fleet, what its drivers need.
`,
    )
    .action(async (options) => (await import("./run.ts")).simulateNodes(options));
}
