import { type Command, Option } from "commander";
import { example, repeated } from "../../options/declarations.ts";
import {
  clusterFileOption,
  clusterOptions,
  manifestArguments,
  schedulerConfigOption,
} from "../../options/manifest-options.ts";

/** `dray lint` */
export function declareLint(program: Command): void {
  const command = program
    .command("lint")
    .description("find what in manifests would be rejected or would hang, before they are applied");
  manifestArguments(command);
  clusterFileOption(command, "used, but not checked");
  clusterOptions(command, "ask the cluster of the current context what it has, with lists only");
  schedulerConfigOption(command)
    .option(
      "--runtime-config <config>",
      "api/all=true, resource.k8s.io/v1beta1=true, ...: API versions that are served",
    )
    .addOption(
      new Option("--severity <severity>", "the least that is printed")
        .choices(["error", "warning"])
        .default("warning"),
    )
    .addOption(repeated("--ignore <rules>", "comma-separated rules to leave out; may be repeated", "none"))
    .addOption(
      new Option("-o, --output <format>", "output format; github: annotations of a workflow").choices([
        "json",
        "yaml",
        "github",
      ]),
    )
    .addHelpText(
      "after",
      `${example("dray lint manifests/\nhelm template chart | dray lint - --kubernetes-version 1.36\ndray lint manifests/ --cluster cluster.yaml\ndray lint manifests/ --live -o github")}
docs/lint.md describes the rules. With ResourceSlices (and Nodes), among the manifests or of a cluster, it asks what
their devices can serve.

Exit codes: 0 no errors (whatever the warnings say), 1 errors, 2 wrong usage, or a file or the cluster cannot be read.
`,
    )
    .action(async (files, options) => (await import("./run.ts")).lint(files, options));
}
