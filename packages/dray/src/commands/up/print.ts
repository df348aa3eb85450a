import type { AddedContext } from "@dray/cluster";
import type { Target } from "../../options/target.ts";
import { printData } from "../../terminal/print-data.ts";
import { clusterStatus } from "../status/cluster.ts";

/** Prints the data of `dray status`; the kubeconfig is the requested one, if any. */
export async function printCluster(
  target: Target,
  added: AddedContext | undefined,
  format: "json" | "yaml",
): Promise<void> {
  const status = await clusterStatus(target);
  await printData({ ...status, ...(added && { kubeconfig: added.file }) }, format);
}
