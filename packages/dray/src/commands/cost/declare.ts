import { type Command, Option } from "commander";
import {
  context,
  example,
  featureGates,
  kubeconfig,
  kubernetesVersion,
  repeated,
} from "../../options/declarations.ts";

/** `dray cost` */
export function declareCost(program: Command): void {
  program
    .command("cost")
    .description("show the devices, capacity and counters that pods, workloads, gangs and claims would hold")
    .addOption(
      repeated("-f, --filename <file>", "manifests: a file, a directory, - for standard input", "none"),
    )
    .option("-R, --recursive", "read the folders in directories, too")
    .addOption(
      repeated(
        "--cluster <file>",
        "objects of the cluster, as output of `kubectl get -o yaml`: classes, templates, slices, nodes",
        "none",
      ),
    )
    .option("--live", "ask the cluster of the current context what it has, with lists only")
    .addOption(kubeconfig("kubeconfig of a cluster to ask (--live: $KUBECONFIG, ~/.kube/config)"))
    .addOption(context("context of the kubeconfig, of a cluster to ask"))
    .option(
      "-n, --namespace <name>",
      'where objects live that do not say it (default: that of the context, "default" without a cluster)',
    )
    .addOption(kubernetesVersion("the newest, or that of the cluster"))
    .addOption(featureGates())
    .addOption(
      new Option(
        "-o, --output <format>",
        "output format; wide: also claims with their alternatives, and what quotas charge",
      ).choices(["json", "yaml", "wide"]),
    )
    .addHelpText(
      "after",
      `${example("dray cost -f job.yaml\nhelm template chart | dray cost -f - --live\ndray cost -f jobs/ --cluster cluster.yaml -o json | jq .total.classes")}
Counts what is held at the same time: a claim that several pods name once, one of a template for each pod or PodGroup,
extended resources of a DeviceClass as their claims, admin access as nothing. \`2 to 8\`: it depends on the alternative,
or on the device, that is allocated. With ResourceSlices and Nodes, among the manifests or of a cluster, capacity is
rounded as the devices do it, and counters are known; whether it fits is the question of \`dray plan\`.

Exit codes: 0 everything is counted, 1 an object is missing or has a mistake, 2 wrong usage.
`,
    )
    .action(async (options) => (await import("./run.ts")).cost(options));
}
