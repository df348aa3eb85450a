import type { Command } from "commander";
import { clusterName, dataDir, dataOutput, example } from "../../options/declarations.ts";
import type { TargetFlags } from "../../options/target.ts";
import type { ImageLoadOptions, ImageMapOptions, ImageStoreFlags } from "./run.ts";

/** `dray image` */
export function declareImage(program: Command): void {
  const images = program
    .command("image")
    .description("show and change which commands replace images on the nodes of a cluster, running or not")
    .addHelpText("after", example("dray image map 'example.com/tool:*' '/usr/bin/tool --flag'"));
  images
    .command("map")
    .description("have containers of an image run a command of this machine from now on")
    .argument("<pattern>", "image reference; * matches anything")
    .argument(
      "<command>",
      "the command as one argument, with quotes around words with spaces; or a folder of programs, with / at its end",
    )
    .option("--user <uid[:gid]>", "user of the image's program, as in 65532 or 65532:65532")
    .addOption(clusterName())
    .addOption(dataDir())
    .addHelpText(
      "after",
      `${example("dray image map 'example.com/tool:*' '/usr/bin/tool --flag'\ndray image map 'example.com/driver:*' /opt/driver/bin/")}
The command replaces that of the pod, whose args follow it. A folder comes first in the PATH of containers, which run the
command of their pod: for images with several programs. Containers that run go on; those that wait for the image
start. The latest row that matches counts, before those of --image and those that are built in. Without --user, and where
neither the pod names one, containers run as a user of their own if the cluster is root's, else as yours.
`,
    )
    .action(async (...args: [string, string, ImageMapOptions]) =>
      (await import("./run.ts")).imageMap(...args),
    );
  images
    .command("unmap")
    .description("remove the mapping of a pattern that `image map` has added")
    .argument("<pattern>", "as it was mapped")
    .addOption(clusterName())
    .addOption(dataDir())
    .addHelpText("after", example("dray image unmap 'example.com/tool:*'"))
    .action(async (...args: [string, TargetFlags]) => (await import("./run.ts")).imageUnmap(...args));
  images
    .command("list")
    .description(
      "print which images stand for which commands, in the order in which they are tried; with --runtime oci: the images that are there",
    )
    .addOption(clusterName())
    .addOption(dataDir())
    .addOption(dataOutput())
    .addHelpText("after", example("dray image list"))
    .action(async (options) => (await import("./run.ts")).imageList(options));
  images
    .command("load")
    .description("load an image for nodes that run real containers (`dray up --runtime oci`)")
    .argument("<path>", "archive of `docker save`, or archive or folder in the OCI's image layout")
    .option("--as <name>", "name of the image, where it has none there: example.com/app:v1")
    .addOption(clusterName())
    .addOption(dataDir())
    .option("--oci-dir <folder>", "the folder of nodes that `dray kubelet` runs, instead of a cluster's")
    .addHelpText("after", example("docker save example.com/app:v1 > app.tar\ndray image load app.tar"))
    .action(async (...args: [string, ImageLoadOptions]) => (await import("./run.ts")).imageLoad(...args));
  images
    .command("rm")
    .description(
      "remove loaded or pulled images from nodes that run real containers (`dray up --runtime oci`)",
    )
    .argument(
      "<image...>",
      "name, or digest as `dray image list` shows it; the image goes with its last name",
    )
    .addOption(clusterName())
    .addOption(dataDir())
    .option("--oci-dir <folder>", "the folder of nodes that `dray kubelet` runs, instead of a cluster's")
    .addHelpText("after", example("dray image rm example.com/app:v1"))
    .action(async (...args: [readonly string[], ImageStoreFlags]) =>
      (await import("./run.ts")).imageRemove(...args),
    );
  images
    .command("serve", { hidden: true })
    .description("serve a folder on port 80 of the pod's address, in place of nginx")
    .argument("<folder>", "what is served")
    .action(async (folder: string) => (await import("./serve.ts")).serveFiles(folder));
}
