import { type Command, Option } from "commander";
import {
  dataOutput,
  example,
  featureGates,
  kubernetesVersion,
  repeated,
} from "../../options/declarations.ts";

/** `dray cel` */
export function declareCel(program: Command): void {
  const cel = program
    .command("cel")
    .description("check device selectors (CEL), and evaluate them for devices")
    .addHelpText("after", example(`dray cel check 'device.driver == "gpu.example.com"'`));
  const fresh = (): Option =>
    new Option("--new", "by the rules for new objects: only what the release and its gates know");
  cel
    .command("check")
    .description(
      "print type and cost of a device selector, or of all expressions in manifests, or their errors; exit code 1 for an error",
    )
    .argument("[expression]", "the CEL expression; one that begins with - goes after --")
    .addOption(
      repeated(
        "-f, --filename <file>",
        "check every CEL expression in manifests (devices, admission policies, webhooks, CRDs): a file, a directory, -",
        "none",
      ),
    )
    .option("-R, --recursive", "read the folders in directories, too")
    .addOption(fresh())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(dataOutput())
    .addHelpText(
      "after",
      example(
        `dray cel check 'device.attributes["gpu.example.com"].model == "a100"'\ndray cel check -f manifests/ -R`,
      ),
    )
    .action(async (expression, options) => (await import("./run.ts")).celCheck(expression, options));
  cel
    .command("eval")
    .description("print which devices a selector matches; exit code 1 if it is invalid or fails on a device")
    .argument("<expression>", "the CEL expression; one that begins with - goes after --")
    .addOption(repeated("-f, --filename <file>", "ResourceSlices: a file, a directory, - for standard input"))
    .option("-R, --recursive", "read the folders in directories, too")
    .addOption(fresh())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(dataOutput())
    .addHelpText(
      "after",
      example(
        `kubectl get resourceslices -o yaml > slices.yaml\ndray cel eval 'device.attributes["gpu.example.com"].model == "a100"' -f slices.yaml`,
      ),
    )
    .action(async (expression, options) => (await import("./run.ts")).celEval(expression, options));
}
