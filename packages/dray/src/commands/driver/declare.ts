import type { Command } from "commander";
import { context, example, kubeconfig } from "../../options/declarations.ts";

/** `dray driver` */
export function declareDriver(program: Command): void {
  const driver = program
    .command("driver")
    .description("run a driver that Dray ships")
    .addHelpText("after", example("NODE_NAME=n1 dray driver example"));
  driver
    .command("example")
    .description("simulated GPUs, network cards or CPUs; flags and environment configure it (--help)")
    .argument("[flags...]")
    // The remaining arguments belong to the program.
    .helpOption(false)
    .allowUnknownOption()
    .addHelpText("after", example("NODE_NAME=n1 dray driver example"))
    .action(async (flags) => (await import("@dray/driver-example")).runProgram(flags, process.env));
  driver
    .command("simulate")
    .description("run the drivers that a fleet file has for one node")
    .requiredOption("--fleet <file>", "the fleet, or output of `kubectl get resourceslices -o yaml`")
    .option("--node-name <name>", "the node that this runs on (default: $NODE_NAME)")
    .addOption(kubeconfig())
    .addOption(context())
    .option(
      "--registrar-dir <dir>",
      "folder of registration sockets (default: $KUBELET_REGISTRAR_DIRECTORY_PATH, /var/lib/kubelet/plugins_registry)",
    )
    .option(
      "--plugins-dir <dir>",
      "folder of drivers' sockets and data (default: $KUBELET_PLUGINS_DIRECTORY_PATH, /var/lib/kubelet/plugins)",
    )
    .option("--cdi-dir <dir>", "CDI files (default: $CDI_ROOT, /var/run/cdi)")
    .addHelpText(
      "after",
      example("dray driver simulate --fleet fleet.yaml --node-name n1 --kubeconfig n1.kubeconfig"),
    )
    .action(async (options) => (await import("./run.ts")).simulate(options));

  driver
    .command("device-plugin-example")
    .description("a device plugin of simulated devices; flags configure it (--help)")
    .argument("[flags...]")
    .helpOption(false)
    .allowUnknownOption()
    .addHelpText("after", example("dray driver device-plugin-example --resource nvidia.com/gpu --count 8"))
    .action(async (flags) => (await import("@dray/device-plugin-example")).runProgram(flags));
}

/** Declares the command that `dray up` runs for the simulated drivers of its cluster. */
export function declareSimulation(program: Command): void {
  program
    .command("simulation", { hidden: true })
    .description("run the simulated drivers of the nodes that `dray up` names")
    .requiredOption("--log-file <file>", "where to log")
    .addHelpText("after", example("dray simulation --log-file drivers.log"))
    .action(async (options) => (await import("./run.ts")).simulation(options));
}
