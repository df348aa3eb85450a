import type { Command } from "commander";
import {
  clusterName,
  context,
  dataDir,
  featureGates,
  kubeconfig,
  kubernetesVersion,
  repeated,
} from "../options/declarations.ts";

/** Adds the options that select a cluster or manifests. */
export function observeOptions(
  command: Command,
  namespaceHelp = "namespace of objects without one (default: that of the context)",
): Command {
  return command
    .addOption(
      kubeconfig(
        "kubeconfig to read with (default: $KUBECONFIG, ~/.kube/config, or the cluster of `dray up`)",
      ),
    )
    .addOption(context())
    .addOption(clusterName())
    .addOption(dataDir())
    .option("-n, --namespace <name>", namespaceHelp)
    .addOption(
      repeated(
        "-f, --filename <file>",
        "manifests, or output of `kubectl get -o yaml`: a file, a directory, - for standard input; no cluster is read unless a flag names one",
        "none",
      ),
    )
    .option("-R, --recursive", "read the folders in directories, too")
    .option("--rights", "print the commands that grant the required permissions, and end")
    .addOption(kubernetesVersion("that of the cluster"))
    .addOption(featureGates());
}
