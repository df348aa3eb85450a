import { getHeapStatistics } from "node:v8";
import { openFilesLimit } from "@dray/streams";

/**
 * Memory of nodes without pods, measured on 500 and on 2000 of them, with a third more for what comes later.
 */
const perNode = {
  /** Bytes, in the control plane and in the process of the agents together. */
  memory: 1.4 * 2 ** 20,
  /** Bytes of JavaScript objects in the larger one of the two processes. */
  heap: 0.5 * 2 ** 20,
  /** Files that the process of the agents holds open. */
  files: 4,
};
/** The same of nodes that are simulated, measured on 5000 of them. */
const perSimulatedNode = { memory: 0.15 * 2 ** 20, heap: 0.06 * 2 ** 20 };
/** Bytes of a driver on a node: a process of its own. */
const driverMemory = 30 * 2 ** 20;
/** Memory of a cluster without nodes. */
const base = { memory: 200 * 2 ** 20, heap: 60 * 2 ** 20, files: 100 };

/** Memory that this machine has for the two processes of a cluster. */
export interface Capacity {
  /** Bytes of memory that are free. */
  readonly memory: number;
  /** Bytes of JavaScript objects that one process may have. */
  readonly heap: number;
  /** Files that one process may hold open. */
  readonly files: number;
}

function capacity(): Capacity {
  return {
    memory: process.availableMemory(),
    heap: getHeapStatistics().heap_size_limit,
    files: openFilesLimit() ?? Number.POSITIVE_INFINITY,
  };
}

export interface WantedNodes {
  readonly nodes: number;
  /** How many nodes are simulated beside them. */
  readonly simulated?: number;
  /** How many of them there are, if the cluster runs: only new ones take memory. */
  readonly running?: number | undefined;
  /** How many drivers are to be installed on every node. */
  readonly drivers?: number;
}

/**
 * Throws an error that says how many nodes fit if the machine has not enough for those that a cluster is to
 * have. An estimate: pods, and drivers that are installed otherwise, come on top of it.
 */
export function checkCapacity(
  { nodes, simulated = 0, running, drivers = 0 }: WantedNodes,
  found: Capacity = capacity(),
): void {
  const has = {
    ...found,
    memory: found.memory - simulated * perSimulatedNode.memory,
    heap: found.heap - simulated * perSimulatedNode.heap,
  };
  if (simulated > 0 && (has.memory < base.memory || has.heap < base.heap)) refuseSimulated(simulated, found);
  const [there, own] = running === undefined ? [0, base.memory] : [running, 0];
  if (nodes <= there) return;
  const each = perNode.memory + drivers * driverMemory;
  const memory = own + (nodes - there) * each;
  if (memory > has.memory) {
    const fitting = there + Math.max(0, Math.floor((has.memory - own) / each));
    refuse(
      nodes,
      fitting,
      `${size(memory)} of memory${there > 0 ? " more" : ""} ${drivers > 0 ? "with their drivers" : "without their pods"}`,
      `${size(has.memory)} are available`,
    );
  }
  const heap = base.heap + nodes * perNode.heap;
  if (heap > has.heap) {
    const fitting = Math.max(0, Math.floor((has.heap - base.heap) / perNode.heap));
    const raise = `NODE_OPTIONS=--max-old-space-size=${Math.ceil(heap / 2 ** 20)} raises it`;
    refuse(nodes, fitting, `a heap of ${size(heap)}`, `its limit is ${size(has.heap)} (${raise})`);
  }
  const files = base.files + nodes * perNode.files;
  if (files > has.files) {
    const fitting = Math.max(0, Math.floor((has.files - base.files) / perNode.files));
    refuse(nodes, fitting, `${files} open files`, `the limit is ${has.files} (see \`ulimit -Hn\`)`);
  }
}

function refuseSimulated(simulated: number, { memory, heap }: Capacity): never {
  const fitting = Math.min(
    Math.floor((memory - base.memory) / perSimulatedNode.memory),
    Math.floor((heap - base.heap) / perSimulatedNode.heap),
  );
  throw new Error(
    `${simulated} simulated nodes need about ${size(base.memory + simulated * perSimulatedNode.memory)} of memory and a heap of ${size(base.heap + simulated * perSimulatedNode.heap)}, and ${size(memory)} are available, with a heap of ${size(heap)}: ${Math.max(0, fitting)} would fit`,
  );
}

function refuse(nodes: number, fitting: number, need: string, found: string): never {
  throw new Error(`--nodes ${nodes}: they need about ${need}, and ${found}: ${fitting} would fit`);
}

function size(bytes: number): string {
  return bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(1)} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
}
