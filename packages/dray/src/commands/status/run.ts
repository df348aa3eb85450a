import { existsSync } from "node:fs";
import { systemClock } from "@dray/client";
import { type Layout, runningProcess } from "@dray/cluster";
import { commandText, listOfOthers, noCluster, type TargetFlags, target } from "../../options/target.ts";
import { printData } from "../../terminal/print-data.ts";
import { printText, tableFormat } from "../../terminal/print-text.ts";
import { remark } from "../../terminal/verbosity.ts";
import { type ClusterStatus, clusterStatus } from "./cluster.ts";
import { statusText } from "./print.ts";

/** Prints the state of the cluster. The exit code is 0 only if it runs and all parts are ready. */
export async function status(
  options: TargetFlags & { output?: "json" | "yaml" | "kubeconfig" },
): Promise<void> {
  const chosen = target(options);
  const { layout } = chosen;
  if (options.output === "kubeconfig") {
    if (!existsSync(layout.kubeconfig)) throw noCluster(layout);
    process.stdout.write(`${layout.kubeconfig}\n`);
    if (runningProcess(layout.processFile) !== undefined) return;
    remark(`the cluster in ${layout.dataDir} does not run: ${commandText(layout, "up")} continues it\n`);
    process.exitCode = 1;
    return;
  }
  const found = await clusterStatus(chosen);
  if (found.state !== "running") process.exitCode = 1;
  if (options.output !== undefined) return printData(found, options.output);
  printText(`${textOf(found, layout)}${listOfOthers(options)}`);
}

function textOf(found: ClusterStatus, layout: Layout): string {
  if (found.state === "none") return `${noCluster(layout).message}\n`;
  return statusText(found, systemClock.now(), layout, tableFormat({}));
}
