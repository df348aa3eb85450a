import type { Command } from "commander";
import { context, featureGates, kubeconfig, kubernetesVersion, repeated } from "./declarations.ts";

/** Adds the options that name manifests, of a command that takes files by `-f` only. */
export function manifestOptions(command: Command, description: string): Command {
  return command
    .addOption(repeated("-f, --filename <file>", description, "none"))
    .option("-R, --recursive", "read the folders in directories, too");
}

/**
 * Adds the argument and the options that name manifests, of a command that takes files without a flag, too.
 */
export function manifestArguments(command: Command): Command {
  return manifestOptions(
    command.argument(
      "[files...]",
      "files, directories, - for standard input (the output of helm or kustomize)",
    ),
    "the same as naming it alone; may be repeated",
  );
}

/** Adds the option that names files with objects of a cluster. */
export function clusterFileOption(command: Command, use: string): Command {
  return command.addOption(
    repeated(
      "--cluster <file>",
      `objects of the cluster, as output of \`kubectl get -o yaml\`: ${use}`,
      "none",
    ),
  );
}

/** Adds the options that select a cluster that runs, its namespace and its rules. */
export function clusterOptions(command: Command, live: string): Command {
  return command
    .option("--live", live)
    .addOption(kubeconfig("kubeconfig of a cluster to read (--live: $KUBECONFIG, ~/.kube/config)"))
    .addOption(context("context of the kubeconfig, of a cluster to read"))
    .option(
      "-n, --namespace <name>",
      'where objects live that do not say it (default: that of the context, "default" without a cluster)',
    )
    .addOption(kubernetesVersion("the newest, or that of the cluster"))
    .addOption(featureGates("those of the cluster as far as they can be read, else the release's defaults"));
}

/** Adds the option that names the configuration of the scheduler. */
export function schedulerConfigOption(command: Command): Command {
  return command.option(
    "--scheduler-config <file>",
    "KubeSchedulerConfiguration of the cluster's scheduler: its profiles and plugins (default: kube-scheduler's, or that of the `dray up` cluster)",
  );
}

/** The flags of `clusterOptions`. */
export interface ClusterFlags {
  readonly live?: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
}

/** Reports whether the flags select a cluster that runs. */
export const namesCluster = ({ live, kubeconfig, context }: ClusterFlags): boolean =>
  live === true || kubeconfig !== undefined || context !== undefined;
