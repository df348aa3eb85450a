import { readRegularFileSync } from "@dray/files";
import type { NodeState } from "@dray/kubelet";
import type { Layout } from "../data-dir/layout.ts";
import { runningProcess } from "../process/process-file.ts";

/** States that the process of the node agents records. */
export interface NodeStates {
  readonly pid: number;
  readonly nodes: readonly NodeState[];
}

/** Maximum size of the file in bytes: a node takes at most some 5 KB. */
const maxBytes = 64 << 20;

/**
 * Returns how the agents of the cluster's nodes fare, as their process says it, whether or not the API server
 * responds. Undefined if no such process lives, or it has said nothing yet.
 */
export function readNodeStates(layout: Layout): readonly NodeState[] | undefined {
  const agents = runningProcess(layout.agentsFile);
  if (agents === undefined) return undefined;
  try {
    const text = readRegularFileSync(layout.nodesFile, { maxBytes }).toString("utf8");
    // Written by this program.
    const { pid, nodes } = JSON.parse(text) as NodeStates;
    return pid === agents.pid ? nodes : undefined;
  } catch {
    return undefined;
  }
}
