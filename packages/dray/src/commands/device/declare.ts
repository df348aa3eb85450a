import { type Command, Option } from "commander";
import {
  clusterName,
  context,
  dataDir,
  dataOutput,
  example,
  kubeconfig,
} from "../../options/declarations.ts";

/** `dray device` */
export function declareDevice(program: Command): void {
  const device = program
    .command("device")
    .description("list devices and their holders, and break and heal simulated ones")
    .addHelpText("after", example("dray device break worker-1/gpu-0"));
  const ofCluster = (command: Command): Command =>
    command
      .addOption(clusterName())
      .addOption(dataDir())
      .addOption(kubeconfig("kubeconfig of another cluster"))
      .addOption(context("context of the kubeconfig, of another cluster"));
  const deviceArgument = "NODE/DEVICE, NODE/DRIVER/POOL/DEVICE; of the network: DRIVER/POOL/DEVICE";
  ofCluster(device.command("list"))
    .description("print the devices of a cluster and their health")
    .addOption(dataOutput())
    .addHelpText("after", example("dray device list"))
    .action(async (options) => (await import("./run.ts")).deviceList(options));
  device
    .command("holders")
    .description("print which containers have which devices, from the kubelets' pod resources API")
    .addOption(clusterName())
    .addOption(dataDir())
    .option("--node <node>", "of one node of the cluster")
    .option("--socket <path>", "of another kubelet: /var/lib/kubelet/pod-resources/kubelet.sock")
    .addOption(dataOutput())
    .addHelpText("after", example("dray device holders"))
    .action(async (options) => (await import("./run-holders.ts")).deviceHolders(options));
  ofCluster(device.command("break"))
    .description(
      "make a simulated device unhealthy: its slice gets a taint, and the status of its pods reports it",
    )
    .argument("<device>", deviceArgument)
    .option("--message <text>", "what is wrong with it")
    .addOption(
      new Option("--effect <effect>", "effect of the taint (default: as the fleet says, NoSchedule)").choices(
        ["NoSchedule", "NoExecute", "None"],
      ),
    )
    .addHelpText("after", example("dray device break worker-1/gpu-0 --message 'too many ECC errors'"))
    .action(async (name, options) => (await import("./run.ts")).deviceBreak(name, options));
  ofCluster(device.command("heal"))
    .description("make a simulated device healthy again")
    .argument("<device>", deviceArgument)
    .addHelpText("after", example("dray device heal worker-1/gpu-0"))
    .action(async (name, options) => (await import("./run.ts")).deviceHeal(name, options));
}
