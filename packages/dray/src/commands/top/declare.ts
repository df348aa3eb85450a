import { Argument, type Command } from "commander";
import { observeOptions } from "../../observe/options.ts";
import { dataOutput, example } from "../../options/declarations.ts";

/** `dray top` */
export function declareTop(program: Command): void {
  observeOptions(
    program
      .command("top")
      .description("show devices, their holders, what is free, what is lost, and how many more claims fit")
      .addArgument(
        new Argument("[kind]", "what to list")
          .default("nodes")
          .choices(["devices", "nodes", "classes", "claims", "namespaces"]),
      ),
  )
    .option("-w, --watch", "print again at intervals")
    .option("--interval <duration>", "how often --watch reads the cluster (default: 2s)")
    .addOption(dataOutput())
    .addHelpText(
      "after",
      `${example("dray top nodes\ndray top classes --watch\ndray top devices -o json | jq -r '.devices[] | select(.state == \"waste\") | .device'")}
STATE: free; partly (claims have some of it, others can have more); allocated; tainted; waste (what is left of it no
class or template can use); blocked (others have taken counters that it needs); unusable (its pool, or no node).
Devices that share counters, as partitions of a GPU do, are one: they are never added up.
HEADROOM: how many more claims for one device of the class, or of the template, fit at once on the nodes that take pods.
`,
    )
    .action(async (what, options) => (await import("./run.ts")).top(what, options));
}
