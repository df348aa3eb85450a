import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster, type TestCluster } from "@dray/cluster/testing";
import { eventually } from "@dray/testing/eventually";
import { missingPeers } from "../peers.ts";
import type { Outcome } from "../play.ts";
import { draDriverCpu } from "./dra-driver-cpu.ts";
import { draExampleDriver } from "./dra-example-driver.ts";
import { dranet } from "./dranet.ts";
import { exampleOnKubelet } from "./example-on-kubelet.ts";
import { metricsServer } from "./metrics-server.ts";
import { nvidiaChart } from "./nvidia-chart.ts";
import { nvidiaDevicePlugin } from "./nvidia-device-plugin.ts";
import { nvidiaDraDriver } from "./nvidia-dra-driver.ts";
import { sampleDevicePlugin } from "./sample-device-plugin.ts";
import type { DriverTrial, IndependentTrial, TrialContext } from "./trial.ts";

const trials: readonly (DriverTrial | IndependentTrial)[] = [
  sampleDevicePlugin,
  draDriverCpu,
  nvidiaDevicePlugin,
  nvidiaDraDriver,
  nvidiaChart,
  draExampleDriver,
  dranet,
  exampleOnKubelet,
  metricsServer,
];

export interface DriverOptions {
  /** Trials whose names it finds; all if undefined. */
  readonly only: RegExp | undefined;
  /** Leaves the folders of the trials. */
  readonly keep: boolean;
  readonly print: (text: string) => void;
}

/** Runs the programs whose names match on Dray's node agent, each on a cluster of its own. */
export async function runDrivers({ only, keep, print }: DriverOptions): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const trial of trials) {
    if (!(only?.test(trial.name) ?? true)) continue;
    const obstacle = obstacleOf(trial);
    if (obstacle !== undefined) {
      print(`${trial.name}: not run: ${obstacle}`);
      continue;
    }
    const began = performance.now();
    const failure = await attempt(trial, keep, print);
    const seconds = (performance.now() - began) / 1000;
    print(`${trial.name}: ${failure === undefined ? "ok" : `FAILED: ${failure}`} (${seconds.toFixed(1)} s)`);
    outcomes.push({ name: trial.name, seconds, ...(failure === undefined ? {} : { failure }) });
  }
  return outcomes;
}

/** Why a trial cannot run here; undefined if it can. */
function obstacleOf(trial: DriverTrial | IndependentTrial): string | undefined {
  const missing = missingPeers(trial.programs);
  if (missing.length > 0) return `peers missing: ${missing.join(", ")} (interop/build builds them)`;
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "drivers need Linux and root";
  return trial.obstacle?.();
}

/** The cluster of the trial that runs. */
let running: TestCluster | undefined;

/** Ends the trial that runs, so that none of its pods goes on after this process. */
export async function stopDrivers(): Promise<void> {
  await running?.stop();
}

/** Returns what went wrong; undefined if nothing did. */
async function attempt(
  trial: DriverTrial | IndependentTrial,
  keep: boolean,
  print: (text: string) => void,
): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "dray-interop-driver-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  if (!keep) process.once("exit", remove);
  const context: TrialContext = { folder, print: (text) => print(`${trial.name}: ${text}`) };
  try {
    if ("runAlone" in trial) {
      await trial.runAlone(context);
      return undefined;
    }
    await using cluster = await startCluster(trial.cluster?.(folder));
    running = cluster;
    await eventually("the service account of pods", async () =>
      cluster.client.text("GET", "/api/v1/namespaces/default/serviceaccounts/default"),
    );
    await trial.run(cluster, context);
    return undefined;
  } catch (error) {
    return (error as Error).stack ?? String(error);
  } finally {
    running = undefined;
    if (keep) print(`${trial.name}: files are in ${folder}`);
    else {
      process.off("exit", remove);
      remove();
    }
  }
}
