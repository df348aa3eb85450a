import type { KubernetesVersion } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import { isExtendedResourceName } from "@dray/api/validation";
import type { ClusterEvent, Plugin } from "../../framework/framework.ts";
import { amountsOf, requestsOf, takenBy } from "../../framework/resources.ts";
import type { PluginArgs } from "../args.ts";
import {
  type ExtendedClass,
  isServedByDevices,
  resourcesOf,
} from "../dynamic-resources/extended-resources.ts";
import { type DeviceTotals, placementScore, requestList, resourceScorer, strategyScorer } from "./scoring.ts";

const name = "NodeResourcesFit";

/** Request of the pod for one resource. */
interface Need {
  readonly resource: string;
  readonly amount: number;
  readonly reason: string;
}

/** Key of the pod's requests for scores in the cycle state. */
const scoreKey = `${name}/score`;

/** As upstream reports them; extended resources follow. */
const first = ["cpu", "memory", "ephemeral-storage"];

/**
 * The pod's requests must fit into what the node has left, but for extended resources that DynamicResources
 * gives it as devices. Scores by the strategy of the arguments.
 *
 * Upstream: plugins/noderesources/fit.go
 */
export function nodeResourcesFit(
  args: PluginArgs["NodeResourcesFit"],
  version: KubernetesVersion,
  extendedClass?: ExtendedClass,
  deviceTotals?: DeviceTotals,
): Plugin {
  const { resources } = args.scoringStrategy;
  const assumed = { assumed: true };
  const scoreOf = resourceScorer(resources, strategyScorer(args.scoringStrategy), {
    ...assumed,
    deviceTotals,
  });
  const groups = new Set(args.ignoredResourceGroups);
  const ignored = new Set(args.ignoredResources);

  function isIgnored(resource: string): boolean {
    if (ignored.size === 0 && groups.size === 0) return false;
    if (!isExtendedResourceName(resource)) return false;
    return ignored.has(resource) || groups.has(resource.split("/")[0]!);
  }

  function needsOf(pod: Pod): readonly Need[] {
    const requests = [...requestsOf(pod)];
    const leading = first.flatMap((each) => requests.filter(([resource]) => resource === each));
    return [...new Map([...leading, ...requests])].flatMap(([resource, amount]) => {
      if (amount === 0 || resource === "pods" || isIgnored(resource)) return [];
      return [{ resource, amount, reason: `Insufficient ${resource}` }];
    });
  }

  return {
    name,
    preFilter(state, pod) {
      state.set(name, needsOf(pod));
      return { type: "continue" };
    },
    filter(state, _pod, node) {
      let reasons: string[] | undefined;
      let resolvable = true;
      if (node.pods.size + 1 > (node.allocatable.get("pods") ?? 0)) reasons = ["Too many pods"];
      for (const { resource, amount, reason } of state.get(name) as readonly Need[]) {
        const allocatable = node.allocatable.get(resource) ?? 0;
        if (amount <= allocatable - (node.requested.get(resource) ?? 0)) continue;
        if (isServedByDevices(resource, allocatable, extendedClass)) continue;
        reasons ??= [];
        reasons.push(reason);
        // More than the whole node has: no preemption frees that.
        if (amount > allocatable) resolvable = false;
      }
      return reasons && { plugin: name, reasons, resolvable };
    },
    preScore(state, pod) {
      state.set(scoreKey, requestList(pod, resources, assumed));
      return undefined;
    },
    score: (state, _pod, node) => scoreOf(state.get(scoreKey) as Float64Array, node),
    scorePlacement: (_group, { nodes }, pods) => placementScore(resources, nodes, pods),
    mayHelp: (pod, event) => mayHelp(pod, event, version, extendedClass),
  };
}

function mayHelp(
  pod: Pod,
  event: ClusterEvent,
  version: KubernetesVersion,
  extendedClass: ExtendedClass | undefined,
): boolean {
  switch (event.kind) {
    case "released":
      return true;
    case "assigned-pod": {
      if (event.change === "add") return false;
      if (event.change === "delete" || event.old === undefined) return true;
      const before = takenBy(event.old, version).requested;
      const after = takenBy(event.pod, version).requested;
      return wants(pod, (resource) => (before.get(resource) ?? 0) > (after.get(resource) ?? 0));
    }
    case "own-pod": {
      if (event.old === undefined) return true;
      const after = requestsOf(event.pod);
      return wants(event.old, (resource, amount) => amount > (after.get(resource) ?? 0));
    }
    case "node":
      return (
        event.change !== "delete" &&
        event.changed.has("allocatable") &&
        nodeMayHelp(pod, event.node, event.old, extendedClass)
      );
    case "class": {
      const names = resourcesOf(event.deviceClass);
      return extendedClass !== undefined && wants(pod, (resource) => names.includes(resource));
    }
    default:
      return false;
  }
}

/** Reports whether the test holds for a resource that the pod asks for. */
function wants(pod: Pod, test: (resource: string, amount: number) => boolean): boolean {
  for (const [resource, amount] of requestsOf(pod)) if (amount > 0 && test(resource, amount)) return true;
  return false;
}

/**
 * The pod fits on the empty node, which is new or has more of a requested resource. Upstream:
 * noderesources/fit.go, EventsToRegister: of the updates of a node those of allocatable.
 */
function nodeMayHelp(
  pod: Pod,
  node: Node,
  old: Node | undefined,
  extendedClass: ExtendedClass | undefined,
): boolean {
  const now = amountsOf(node.status?.allocatable);
  const allocatable = (resource: string): number => now.get(resource) ?? 0;
  const served = (resource: string): boolean =>
    isServedByDevices(resource, allocatable(resource), extendedClass);
  if (allocatable("pods") < 1) return false;
  if (wants(pod, (resource, amount) => amount > allocatable(resource) && !served(resource))) return false;
  if (old === undefined) return true;
  const before = amountsOf(old.status?.allocatable);
  const grew = (resource: string): boolean => allocatable(resource) > (before.get(resource) ?? 0);
  return grew("pods") || wants(pod, (resource) => grew(resource) || served(resource));
}
