import { type Command, Option } from "commander";
import { example, repeated } from "../../options/declarations.ts";
import { manifestArguments } from "../../options/manifest-options.ts";

/** `dray migrate` */
export function declareMigrate(program: Command): void {
  const command = program
    .command("migrate")
    .description("rewrite manifests of older versions of DRA, and of device plugins, as resource.k8s.io/v1");
  manifestArguments(command)
    .option("--write", "write the files themselves, instead of printing the result")
    .addOption(
      repeated(
        "--device-class <resource=class>",
        "the DeviceClass whose devices an extended resource stands for; may be repeated",
        "those among the manifests, and those of well-known drivers",
      ),
    )
    .addOption(new Option("-o, --output <format>", "output format (default: yaml)").choices(["json", "yaml"]))
    .addHelpText(
      "after",
      `${example("dray migrate manifests/ > migrated.yaml\ndray migrate -R manifests/ --write\nhelm template chart | dray migrate - --device-class example.com/gpu=gpu.example.com")}
Reads resource.k8s.io v1alpha1 to v1beta2, the field source of pods, and limits of extended resources such as
nvidia.com/gpu and nvidia.com/mig-1g.5gb, also in Deployments, Jobs and custom resources with pod templates. Comments
stay, and what is not concerned stays as it was written. What has no equivalent is noted on standard error.

Exit codes: 0 done (whatever the notes say); 1 a file cannot be read, and nothing is written; 2 wrong usage.
`,
    )
    .action(async (files, options) => (await import("./run.ts")).migrate(files, options));
}
