import type { AddedContext } from "@dray/cluster";
import type { Target } from "../../options/target.ts";
import { printData } from "../../terminal/print-data.ts";
import { clusterStatus } from "../status/cluster.ts";

/** Prints for programs what `dray status` says; the kubeconfig is the one that was asked for, if one was. */
export async function printCluster(
  target: Target,
  added: AddedContext | undefined,
  format: "json" | "yaml",
): Promise<void> {
  const status = await clusterStatus(target);
  await printData({ ...status, ...(added && { kubeconfig: added.file }) }, format);
}
