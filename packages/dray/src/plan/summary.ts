import { nameOf } from "../manifests/place.ts";
import type { Growth } from "./grow.ts";
import type { Plan } from "./plan.ts";

/** The counts of a plan, and what is to be known beside it. */
export interface Summary {
  readonly kubernetesVersion: string;
  /** Copies that were added included. */
  readonly nodes: number;
  readonly pods: number;
  /** Were on a node before. */
  readonly running: number;
  /** Got a node. */
  readonly placed: number;
  /** Got none. */
  readonly unplaced: number;
  /** Nodes that the plan adds. `notHelped` only where it was to find out how many are needed. */
  readonly addedNodes?: {
    readonly like: string;
    readonly count: number;
    readonly notHelped?: Growth["notHelped"];
  };
  /** What is accepted and cannot have been meant. */
  readonly warnings: readonly string[];
}

export function summarize(
  { pods, cluster }: Plan,
  more: Pick<Summary, "kubernetesVersion" | "warnings" | "addedNodes">,
): Summary {
  const running = pods.filter((planned) => planned.running).length;
  const unplaced = pods.filter(({ node }) => node === null).length;
  const placed = pods.length - running - unplaced;
  const counts = { nodes: cluster.nodes.length, pods: pods.length, running, placed, unplaced };
  const { addedNodes } = more;
  if (addedNodes?.notHelped === undefined) return { ...counts, ...more };
  // Nodes that are there from the beginning may help a pod that those which come later do not.
  const left = new Set(pods.flatMap(({ node, pod }) => (node === null ? nameOf(pod) : [])));
  const notHelped = addedNodes.notHelped.filter(({ pod }) => left.has(pod));
  return { ...counts, ...more, addedNodes: { ...addedNodes, notHelped } };
}
