import { type KubernetesVersion, newestKubernetesVersion } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import type { CycleState, Plugin } from "../../framework/framework.ts";
import { NodeInfo } from "../../framework/node-info.ts";

interface PodParts {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: readonly object[];
  readonly spec?: object;
  readonly status?: object;
}

let count = 0;

/** A pod of one container, in namespace `d`; what is given replaces the parts. */
export function podOf({
  name = `p${++count}`,
  namespace = "d",
  spec,
  status,
  ...metadata
}: PodParts = {}): Pod {
  return partial<Pod>({
    metadata: { name, namespace, uid: `uid-${namespace}-${name}`, ...metadata },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
    ...(status && { status }),
  });
}

/** A container's requests as a pod. */
export function asking(requests: Readonly<Record<string, string>>, parts: PodParts = {}): Pod {
  const containers = [{ name: "c", image: "i", resources: { requests } }];
  return podOf({ ...parts, spec: { containers, ...parts.spec } });
}

interface NodeParts {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly status?: object;
}

export function nodeOf(
  name: string,
  { labels, spec, allocatable, status, ...metadata }: NodeParts = {},
): Node {
  return partial<Node>({
    metadata: { ...metadata, name, labels: { "kubernetes.io/hostname": name, ...labels } },
    spec: { ...spec },
    status: { allocatable: { cpu: "4", memory: "8Gi", pods: "110", ...allocatable }, ...status },
  });
}

export function nodeInfo(
  name: string,
  {
    pods = [],
    version = newestKubernetesVersion,
    ...parts
  }: NodeParts & {
    readonly pods?: readonly Pod[];
    readonly version?: KubernetesVersion;
  } = {},
): NodeInfo {
  const info = new NodeInfo(nodeOf(name, parts), version);
  for (const pod of pods) info.add(pod);
  return info;
}

/** PreFilter: the text of its rejection, the nodes that it leaves, or its type. */
export function preFilter(
  plugin: Plugin,
  pod: Pod,
  nodes: readonly NodeInfo[] = [],
  state: CycleState = new Map(),
): unknown {
  const result = plugin.preFilter?.(state, pod, nodes);
  if (result?.type === "reject") return result.rejection.reasons.join(", ");
  if (result?.type === "continue" && result.nodes !== undefined) return [...result.nodes].sort();
  return result?.type;
}

/**
 * Rejections of the plugin's Filter by node, with `!` where preemption would not help; "" where the pod fits.
 */
export function filter(
  plugin: Plugin,
  pod: Pod,
  nodes: readonly NodeInfo[],
  state: CycleState = new Map(),
): Record<string, string> {
  const result = plugin.preFilter?.(state, pod, nodes);
  if (result?.type === "reject") throw new Error(result.rejection.reasons.join(", "));
  return Object.fromEntries(
    nodes.map((node) => {
      const rejection = result?.type === "skip" ? undefined : plugin.filter?.(state, pod, node);
      const text = rejection?.reasons.join(", ") ?? "";
      return [node.name, rejection?.resolvable === false ? `!${text}` : text];
    }),
  );
}

/**
 * The normalised scores of nodes, all of which have passed the filters; undefined where the plugin has no
 * say.
 */
export function scores(
  plugin: Plugin,
  pod: Pod,
  nodes: readonly NodeInfo[],
  feasible: readonly NodeInfo[] = nodes,
): Record<string, number> | undefined {
  const state: CycleState = new Map();
  plugin.preFilter?.(state, pod, nodes);
  if (plugin.preScore?.(state, pod, feasible) === "skip") return undefined;
  const all = new Map(feasible.map((node) => [node.name, plugin.score!(state, pod, node)]));
  plugin.normalize?.(all, state, pod);
  return Object.fromEntries(all);
}
