import { type Command, Option } from "commander";
import {
  context,
  example,
  featureGates,
  kubeconfig,
  kubernetesVersion,
  repeated,
} from "../../options/declarations.ts";

/** `dray lint` */
export function declareLint(program: Command): void {
  program
    .command("lint")
    .description("find what in manifests would be rejected or would hang, before they are applied")
    .argument("[files...]", "files, directories, - for standard input (the output of helm or kustomize)")
    .addOption(repeated("-f, --filename <file>", "the same as naming it alone; may be repeated", "none"))
    .option("-R, --recursive", "read the folders in directories, too")
    .option(
      "-n, --namespace <name>",
      'where objects live that do not say it (default: that of the context, "default" without a cluster)',
    )
    .addOption(
      repeated(
        "--cluster <file>",
        "objects of the cluster, as output of `kubectl get -o yaml`: used, but not checked",
        "none",
      ),
    )
    .option("--live", "ask the cluster of the current context what it has, with lists only")
    .addOption(kubeconfig("kubeconfig of a cluster to ask (--live: $KUBECONFIG, ~/.kube/config)"))
    .addOption(context("context of the kubeconfig, of a cluster to ask"))
    .addOption(kubernetesVersion("the newest, or that of the cluster"))
    .addOption(featureGates())
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
