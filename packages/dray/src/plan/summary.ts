import { nameOf } from "../manifests/place.ts";
import type { Problem } from "../manifests/problem.ts";
import type { Growth } from "./grow.ts";
import type { Plan, PodStatus } from "./plan.ts";

/** The counts of a plan, and what is to be known beside it. */
export interface Summary {
  readonly kubernetesVersion: string;
  /** Copies that were added included. */
  readonly nodes: number;
  readonly pods: number;
  /** Were on a node before, with their devices. */
  readonly running: number;
  /** Were on a node before, and do not run there: they start, or lack their devices. */
  readonly bound: number;
  /** Get a node. */
  readonly placed: number;
  /** Get none. */
  readonly unplaced: number;
  /** Wait for something before the scheduler tries them: a claim that is missing, a scheduling gate. */
  readonly pending: number;
  /** Would not be accepted by the API server. */
  readonly refused: number;
  /** Nodes that the plan adds. `notHelped` only where it was to find out how many are needed. */
  readonly addedNodes?: {
    readonly like: string;
    readonly count: number;
    readonly notHelped?: Growth["notHelped"];
  };
  /** Accepted settings that are probably mistakes. */
  readonly warnings: readonly string[];
  /** Mistakes in the input: the objects that have them are left out of the plan. */
  readonly errors: readonly Problem[];
  /** How many objects are. */
  readonly leftOut: number;
}

export function summarize(
  { pods, cluster }: Plan,
  more: Pick<Summary, "kubernetesVersion" | "warnings" | "errors" | "leftOut" | "addedNodes">,
): Summary {
  const count = (wanted: PodStatus): number => pods.filter(({ status }) => status === wanted).length;
  const counts = {
    nodes: cluster.nodes.length,
    pods: pods.length,
    running: count("running"),
    bound: count("bound"),
    placed: count("fits"),
    unplaced: count("does not fit"),
    pending: count("pending"),
    refused: count("refused"),
  };
  const { addedNodes } = more;
  if (addedNodes?.notHelped === undefined) return { ...counts, ...more };
  // Nodes that are there from the beginning may help a pod that those which come later do not.
  const left = new Set(pods.flatMap(({ node, pod }) => (node === null ? nameOf(pod) : [])));
  const notHelped = addedNodes.notHelped.filter(({ pod }) => left.has(pod));
  return { ...counts, ...more, addedNodes: { ...addedNodes, notHelped } };
}
