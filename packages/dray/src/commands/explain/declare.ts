import type { Command } from "commander";
import { observeOptions } from "../../observe/options.ts";
import { allNamespaces, dataOutput, example, labels, noHeaders } from "../../options/declarations.ts";
import { clusterFileOption } from "../../options/manifest-options.ts";

/** `dray explain` */
export function declareExplain(program: Command): void {
  const command = observeOptions(
    program
      .command("explain")
      .description(
        "explain why a pod waits, which devices it has, which pods have a device, and what would help",
      )
      .argument(
        "[kind]",
        "pod, claim, node, device, class, slice, devicetaintrule, or the workload of pods: deployment, statefulset, daemonset, job, replicaset, podgroup; or KIND/NAME",
      )
      .argument(
        "[name]",
        "its name; of a device DRIVER/POOL/DEVICE, or an unambiguous part of it (default: lists what waits)",
      ),
    "namespace of the object (default: that of the context); without a name: list this namespace only",
  );
  clusterFileOption(command, "those of -f are laid over them")
    .addOption(allNamespaces())
    .addOption(labels("without a name: list objects with these labels only"))
    .addOption(noHeaders())
    .addOption(dataOutput())
    .addHelpText(
      "after",
      `${example("dray explain\ndray explain pod train-0 -n team\ndray explain deployment web -n team\ndray explain class gpu.example.com\ndray explain pod train-0 -f cluster.yaml -o json | jq '.placement.changes'\ndray explain devicetaintrule repair -f rule.yaml --context production")}
A DeviceTaintRule of -f need not exist yet: which devices it would taint, and which pods would go when.
Lists only: --rights prints what is listed, and how to grant it. What may not be listed is named, and left out of the
answer. What would help is found by changing one thing and asking the scheduler again. The schema of -o json is
schema/explain.json of this package.

Exit codes: 0 there is an answer; 1 there is no such object, or the cluster cannot be read; 2 wrong usage, or no
right to list pods for the list of what waits.
`,
    )
    .action(async (kind, name, options) => (await import("./run.ts")).explain(kind, name, options));
}
