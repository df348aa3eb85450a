import { type Command, CommanderError, Option } from "commander";
import { example } from "../options/declarations.ts";
import { drayVersion } from "../process/dray-version.ts";
import { applyVerbosity, type VerbosityFlags } from "../terminal/verbosity.ts";
import { declareApiserver } from "./apiserver/declare.ts";
import { declareCel } from "./cel/declare.ts";
import { declareCompletion } from "./completion/declare.ts";
import { declareControllerManager } from "./controller-manager/declare.ts";
import { declareCost } from "./cost/declare.ts";
import { declareDemo } from "./demo/declare.ts";
import { declareDevice } from "./device/declare.ts";
import { declareDoctor } from "./doctor/declare.ts";
import { declareDown } from "./down/declare.ts";
import { DrayCommand } from "./dray-command.ts";
import { declareDriver, declareSimulation } from "./driver/declare.ts";
import { declareExplain } from "./explain/declare.ts";
import { declareImage } from "./image/declare.ts";
import { declareKubectl } from "./kubectl/declare.ts";
import { declareKubelet, declareNodeAgents } from "./kubelet/declare.ts";
import { declareLint } from "./lint/declare.ts";
import { declareLogs } from "./logs/declare.ts";
import { declareMigrate } from "./migrate/declare.ts";
import { declarePlan } from "./plan/declare.ts";
import { declareScheduler } from "./scheduler/declare.ts";
import { declareSimulatedNodes } from "./simulated-nodes/declare.ts";
import { declareStatus } from "./status/declare.ts";
import { declareTop } from "./top/declare.ts";
import { declareUp } from "./up/declare.ts";
import { declareVersion } from "./version/declare.ts";

/**
 * All commands, in the order of the help. Each has a folder: `declare.ts` declares its options and help;
 * `run.ts` runs it and is loaded only then, so that every command starts fast.
 */
const commands: readonly ((program: Command) => void)[] = [
  // Local clusters.
  declareUp,
  declareDown,
  declareStatus,
  declareLogs,
  declareImage,
  declareDemo,
  // Analysis of clusters and manifests.
  declarePlan,
  declareCost,
  declareExplain,
  declareTop,
  declareDoctor,
  declareLint,
  declareMigrate,
  declareCel,
  // Single components.
  declareApiserver,
  declareScheduler,
  declareSimulatedNodes,
  declareControllerManager,
  declareKubelet,
  declareNodeAgents,
  declareDriver,
  declareSimulation,
  // Devices of a cluster.
  declareDevice,
  // The command line itself.
  declareKubectl,
  declareCompletion,
  declareVersion,
];

/** Returns the program with all its commands. */
export function commandLine(): DrayCommand {
  const program = new DrayCommand("dray");
  program
    .description("Kubernetes Dynamic Resource Allocation: clusters, drivers, answers")
    .option("-V, --version", "print the version, and end")
    .addOption(
      new Option("-v, --verbose", "print more: details, debug lines in logs; -vv: stacks of errors, too")
        .argParser((_, count: number) => count + 1)
        .default(0, "no"),
    )
    .addOption(new Option("-q, --quiet", "print data and errors only").conflicts("verbose"))
    .addHelpText("after", example("dray up --detach\ndray status\ndray down"))
    .on("option:version", () => {
      process.stdout.write(`dray ${drayVersion()}\n`);
      throw new CommanderError(0, "commander.version", "");
    })
    .hook("preAction", (_, command) => applyVerbosity(program.opts<VerbosityFlags>(), command.name()));
  for (const declare of commands) declare(program);
  return program;
}
