import { type Command, Option } from "commander";
import { allNamespaces, example, labels, noHeaders } from "../../options/declarations.ts";
import { clusterOptions, manifestOptions, schedulerConfigOption } from "../../options/manifest-options.ts";

/** `dray plan` */
export function declarePlan(program: Command): void {
  const command = program
    .command("plan")
    .description("show where pods would be placed and with which devices, or why not; no cluster is needed");
  manifestOptions(
    command,
    "manifests, or output of `kubectl get -o yaml`: a file, a directory, - for standard input",
  );
  clusterOptions(command, "read the cluster of the current context, with lists only; -f adds to what it has");
  schedulerConfigOption(command)
    .option("--add-nodes <count>", "number of copies of a node to add; auto: find how many are needed")
    .option(
      "--like <node>",
      "the node that --add-nodes copies, with its ResourceSlices (auto: by default the best kind)",
    )
    .addOption(allNamespaces("list pods of all namespaces, as always: -n is for objects that name none"))
    .addOption(labels("list pods with these labels only; all are placed"))
    .addOption(noHeaders())
    .addOption(
      new Option("-o, --output <format>", "output format; wide: a row for each request").choices([
        "json",
        "yaml",
        "wide",
      ]),
    )
    .addHelpText(
      "after",
      `${example("dray plan -f cluster.yaml -f new/\ndray plan --live -f new/\ndray plan -f cluster.yaml -f new/ --add-nodes auto --like node-1")}
where cluster.yaml is what this prints:
  kubectl get -A -o yaml nodes,resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates,pods,namespaces

Reads Nodes, ResourceSlices, DeviceClasses, DeviceTaintRules, ResourceClaims, ResourceClaimTemplates, Pods,
Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs, Namespaces and PriorityClasses; leaves others aside. Of a
cluster it lists all of them: pods that wait, and those that a workload still lacks, are planned beside the manifests.
An object with a mistake is left out of the plan.

Exit codes: 0 every pod has a node (whatever the warnings say); 1 one has none, or the input has mistakes, or a cluster
cannot be read; 2 wrong usage.
`,
    )
    .action(async (options) => (await import("./run.ts")).plan(options));
}
