import { nameOf } from "../manifests/place.ts";
import type { Problem } from "../manifests/problem.ts";
import type { Growth } from "./grow.ts";
import type { Plan, PodStatus } from "./plan.ts";

/** The counts and messages of a plan. */
export interface Summary {
  readonly kubernetesVersion: string;
  /** Including added copies. */
  readonly nodes: number;
  readonly pods: number;
  /** On a node before, with their devices. */
  readonly running: number;
  /** On a node before, without running there: they start, or lack their devices. */
  readonly bound: number;
  /** Get a node. */
  readonly placed: number;
  /** Do not get a node. */
  readonly unplaced: number;
  /** Wait for a missing claim or a scheduling gate before the scheduler tries them. */
  readonly pending: number;
  /** The API server would reject them. */
  readonly refused: number;
  /** Nodes that the plan adds. `notHelped` is set only if the plan searches for their number. */
  readonly addedNodes?: {
    readonly like: string;
    readonly count: number;
    readonly notHelped?: Growth["notHelped"];
    /** Set with `notHelped`. */
    readonly fewest?: Growth["fewest"];
  };
  /** Accepted settings that are probably mistakes. */
  readonly warnings: readonly string[];
  /** Problems of the input: their objects are left out of the plan. */
  readonly errors: readonly Problem[];
  /** Number of objects left out. */
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
  // Nodes that exist from the start may help a pod that later ones do not.
  const left = new Set(pods.flatMap(({ node, pod }) => (node === null ? nameOf(pod) : [])));
  const notHelped = addedNodes.notHelped.filter(({ pod }) => left.has(pod));
  return { ...counts, ...more, addedNodes: { ...addedNodes, notHelped } };
}
