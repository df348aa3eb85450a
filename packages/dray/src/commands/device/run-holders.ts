import { existsSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "@dray/cluster";
import { noCluster, type TargetFlags, target } from "../../options/target.ts";
import { UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { tableFormat } from "../../terminal/print-text.ts";
import { say } from "../../terminal/verbosity.ts";
import { table } from "../../text/table.ts";
import { devicesHeld, type HeldDevice, type KubeletSocket } from "./holders.ts";

export interface HoldersFlags extends TargetFlags {
  readonly socket?: string;
  readonly node?: string;
  readonly output?: "json" | "yaml";
}

/** Below the root of a node. */
const socketPath = "var/lib/kubelet/pod-resources/kubelet.sock";

/** Prints the devices of containers, from the kubelets of this machine. */
export async function deviceHolders(flags: HoldersFlags): Promise<void> {
  const held: HeldDevice[] = [];
  const failures: string[] = [];
  for (const kubelet of kubelets(flags)) {
    const { node = "the kubelet", path } = kubelet;
    if (!existsSync(path)) failures.push(`${node} does not run: there is no ${path}`);
    else
      try {
        for (const one of await devicesHeld(kubelet)) held.push(one);
      } catch (error) {
        failures.push(`${node} does not answer at ${path}: ${(error as Error).message}`);
      }
  }
  if (flags.output !== undefined) printData(held, flags.output);
  else if (held.length > 0) process.stdout.write(holdersTable(held));
  else if (failures.length === 0) say("No container has a device.\n");
  if (failures.length > 0) throw new Error(failures.join("\n"));
}

function kubelets(flags: HoldersFlags): KubeletSocket[] {
  const { socket, node } = flags;
  if (socket !== undefined) return [{ path: socket, ...(node !== undefined && { node }) }];
  const { layout } = target(flags);
  const nodes = readConfig(layout)?.nodes;
  if (nodes === undefined) throw noCluster(layout);
  if (node !== undefined && !nodes.includes(node))
    throw new UsageError(`--node ${node}: must be one of ${nodes.join(", ")}`);
  return nodes
    .map((name, index) => ({ node: name, path: join(layout.nodeRoot(index), socketPath) }))
    .filter((one) => node === undefined || one.node === node);
}

function holdersTable(held: readonly HeldDevice[]): string {
  const rows = held.map(({ node, namespace, pod, container, claim, driver, pool, resource, device }) => [
    node ?? "-",
    `${namespace}/${pod}`,
    container,
    claim ?? "-",
    [driver, pool, resource, device].filter((part) => part !== undefined).join("/"),
  ]);
  return table(
    ["NODE", { title: "POD", wraps: true }, "CONTAINER", "CLAIM", { title: "DEVICE", wraps: true }],
    rows,
    tableFormat({}),
  );
}
