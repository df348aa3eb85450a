import { systemClock } from "@dray/client";
import type { AddedContext } from "@dray/cluster";
import { commandText, type Target } from "../../options/target.ts";
import { printData } from "../../terminal/print-data.ts";
import { say } from "../../terminal/verbosity.ts";
import { clusterStatus } from "../status/cluster.ts";
import { statusText } from "../status/print.ts";

/** Prints the data of `dray status`; the kubeconfig is the requested one, if any. */
export async function printCluster(
  target: Target,
  added: AddedContext | undefined,
  format: "json" | "yaml",
): Promise<void> {
  const status = await clusterStatus(target);
  await printData({ ...status, ...(added && { kubeconfig: added.file }) }, format);
}

/** Prints `dray status` of a cluster that runs. Rejects if it does not serve yet, or no longer. */
export async function printStatus(target: Target): Promise<void> {
  const status = await clusterStatus(target);
  if (!status.running)
    throw new Error(
      `the cluster in ${target.layout.dataDir} is ${status.state}: see ${commandText(target.layout, "status")}`,
    );
  say(statusText(status, systemClock.now(), target.layout));
}
