import { type Command, Option } from "commander";
import { observeOptions } from "../../observe/options.ts";
import { allNamespaces, example, labels, repeated } from "../../options/declarations.ts";

/** `dray doctor` */
export function declareDoctor(program: Command): void {
  observeOptions(
    program
      .command("doctor")
      .description("find problems of the devices, claims and drivers of a cluster, and how to fix them"),
    "report on objects of this namespace, and on those that have none, only; in manifests also the namespace of objects without one",
  )
    .addOption(allNamespaces())
    .addOption(labels("report on objects with these labels only"))
    .addOption(repeated("--rule <rules>", "comma-separated rules to check; may be repeated", "all"))
    .addOption(repeated("--skip <rules>", "comma-separated rules to leave out; may be repeated", "none"))
    .addOption(
      new Option("--severity <severity>", "the least that is judged")
        .choices(["error", "warning"])
        .default("warning"),
    )
    .option(
      "--settle <duration>",
      "report findings that are still there after this time; 0: at once (default: 5s; of manifests always at once)",
    )
    .addOption(
      new Option("-o, --output <format>", "output format; junit: a test for each finding").choices([
        "json",
        "yaml",
        "junit",
      ]),
    )
    .addHelpText(
      "after",
      `${example("dray doctor\ndray doctor --context production --severity error\ndray doctor --rule leaked-reservation,stale-slice -o json | jq -r '.findings[].fix[]'\ndray doctor -o junit > doctor.xml")}
It lists and reads logs, and changes nothing; docs/doctor.md describes the rules. What may not be read is said, with the
rules that nothing can be said about then; --rights prints the commands that grant it.

Exit codes: 0 nothing found; 1 something found; 2 wrong usage, a file or the cluster cannot be read, or no rule can be
judged with the rights of the user.
`,
    )
    .action(async (options) => (await import("./run.ts")).doctor(options));
}
