import { Argument, type Command, Option } from "commander";
import { observeOptions } from "../../observe/options.ts";
import { allNamespaces, example, noHeaders } from "../../options/declarations.ts";

/** `dray top` */
export function declareTop(program: Command): void {
  observeOptions(
    program
      .command("top")
      .description("show devices, their holders, what is free, what is lost, and how many more claims fit")
      .addArgument(
        new Argument("[kind]", "what to list")
          .default("nodes")
          .choices(["devices", "nodes", "classes", "templates", "claims", "namespaces"]),
      ),
    "claims and templates of this namespace only; in manifests also that of objects without one",
  )
    .addOption(allNamespaces())
    .option(
      "-l, --selector <selector>",
      "labels of what is listed (of devices: of their nodes; of namespaces: of their claims), or of nodes and devices a CEL expression about devices",
    )
    .option("--sort-by <column>", "a column in small letters; numbers: the largest first")
    .option("--group-by <label>", "of nodes: a row for each value of this label")
    .option("--all", "all rows (default: the first 50, and how many more there are)")
    .addOption(noHeaders())
    .option("-w, --watch", "print again at intervals")
    .option("--interval <duration>", "how often --watch reads the cluster (default: 2s)")
    .addOption(
      new Option("-o, --output <format>", "output format; wide: all columns, whatever the width").choices([
        "json",
        "yaml",
        "wide",
      ]),
    )
    .addHelpText(
      "after",
      `${example('dray top nodes\ndray top nodes --group-by topology.kubernetes.io/zone\ndray top nodes -l pool=training --sort-by free\ndray top classes --watch\ndray top devices -l \'device.attributes["gpu.example.com"].model == "A100"\'\ndray top devices -o json | jq -r \'.devices[] | select(.state == "waste") | .device\'')}
STATE: free; partly (claims have some of it, others can have more); allocated; tainted; waste (what is left of it no
class or template can use); blocked (others have taken counters that it needs); unusable (its pool, or no node).
Devices that share counters, as partitions of a GPU do, are one: they are never added up.
HEADROOM: how many more claims for one device of the class, or of the template, fit at once on the nodes that take pods:
the most of all choices. \`at least\`: the search was cut short, which happens with constraints and alternatives only.
--no-headers prints rows for programs: all of them, without totals and remarks.

Exit codes: 0 there is an answer; 1 the cluster cannot be read; 2 wrong usage, or no right to list what the answer is
made of. What else may not be listed is named, and the answer is made without it; --rights prints what grants it.
`,
    )
    .action(async (what, options) => (await import("./run.ts")).top(what, options));
}
