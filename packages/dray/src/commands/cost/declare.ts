import { type Command, Option } from "commander";
import { example, noHeaders } from "../../options/declarations.ts";
import { clusterFileOption, clusterOptions, manifestOptions } from "../../options/manifest-options.ts";

/** `dray cost` */
export function declareCost(program: Command): void {
  const command = program
    .command("cost")
    .description("show the devices, capacity and counters that pods, workloads, gangs and claims would hold");
  manifestOptions(command, "manifests: a file, a directory, - for standard input");
  clusterFileOption(command, "classes, templates, slices, nodes");
  clusterOptions(command, "ask the cluster of the current context what it has, with lists only")
    .addOption(noHeaders())
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
