import { type AllocatorOptions, allocatorFeatures, createAllocator, type Explanation } from "@dray/allocator";
import type { Features } from "@dray/api";
import type { Namespace, Node, Pod } from "@dray/api/core/v1";
import type { DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { AlikePods } from "./alike.ts";
import { assumed } from "./binding.ts";
import { SchedulerCache, takesRoom } from "./cache.ts";
import { type Decision, SchedulingCycle } from "./cycle.ts";
import { extensionPoints } from "./extension-points.ts";
import type { Rejection } from "./framework.ts";
import type { Reserving } from "./group-placing.ts";
import { offlineGroups, refusedPlacement } from "./offline-groups.ts";
import {
  type ExtendedClass,
  extendedClaim,
  extendedRequests,
  preferredClass,
  resourcesOf,
  servedResources,
} from "./plugins/extended-resources.ts";
import { defaultPlugins } from "./plugins/index.ts";
import { MemoryClaims } from "./plugins/memory-claims.ts";
import { PendingAllocations } from "./plugins/pending-allocations.ts";
import { claimsOf } from "./plugins/pod-claims.ts";
import { hasPodGroups, PodGroups } from "./pod-groups.ts";

export interface OfflineOptions {
  readonly features: Features;
  /** Lowercase UUIDs, for shares of devices. */
  readonly newId: () => string;
  /** Milliseconds since the epoch, for the limit of the search on one node and for binding conditions. */
  readonly now: () => number;
  /** Compiled selectors, to share with other schedulers and allocators. */
  readonly environment?: AllocatorOptions["environment"];
}

/** What became of a pod. */
export type Placement =
  | { readonly type: "placed"; readonly node: string }
  /** `rejections` by node; `upfront`: all nodes at once. */
  | {
      readonly type: "refused";
      /** In kube-scheduler's words. */
      readonly message: string;
      readonly rejections: ReadonlyMap<string, Rejection>;
      readonly upfront?: Rejection;
    }
  /** The attempt failed, whatever the nodes have (a selector in error): kube-scheduler would try again and again. */
  | { readonly type: "error"; readonly message: string }
  /** Too few pods of its group can be placed, whether or not a node takes this one. */
  | { readonly type: "held"; readonly message: string }
  /** Held back before it is tried: scheduling gates. */
  | { readonly type: "gated"; readonly message: string };

/** What can be added; `apiVersion` is v1 of its group, v1beta1 of groups of pods. */
export type OfflineObject =
  | Node
  | Pod
  | PodGroup
  | Namespace
  | DeviceClass
  | DeviceTaintRule
  | ResourceClaim
  | ResourceSlice;

/**
 * The scheduler without a cluster: the same plugins, asked for one pod after the other. All nodes are looked at, in
 * the order of their names; of equally good ones the first is taken. Nothing is preempted.
 */
export interface OfflineScheduler {
  /** An object of the cluster, new or changed; pods that are bound take their room. */
  add(object: OfflineObject): void;
  /** Decides about a pod; where it fits, it and the devices of its claims count from then on. */
  schedule(pod: Pod): Promise<Placement>;
  /**
   * Decides about the pods of one group together, in their order: where fewer than its minimum can be placed, none is.
   * `refused` is called for each pod that no node takes, while those before it hold their nodes and devices.
   */
  scheduleGroup(
    pods: readonly Pod[],
    refused?: (pod: Pod, placement: Placement & { readonly type: "refused" }) => void,
  ): Promise<readonly Placement[]>;
  /** Decides about a pod as `schedule` does, and takes nothing. */
  preview(pod: Pod): Promise<Placement>;
  /** The newest state of a claim. */
  claim(namespace: string, name: string): ResourceClaim | undefined;
  /** Why the node can or cannot serve the claims of the pod that have no devices yet; undefined: it has none such. */
  explain(pod: Pod, node: string): Explanation | undefined;
}

/** The kubelet's default maxPods. */
const defaultMaxPods = "110";

/**
 * A planned node need not say how many pods it takes. In a cluster, where the kubelet says it, a node that does not takes
 * none.
 */
function withPods(node: Node): Node {
  const allocatable = node.status?.allocatable;
  if (allocatable?.["pods"] !== undefined) return node;
  return { ...node, status: { ...node.status, allocatable: { ...allocatable, pods: defaultMaxPods } } };
}

/** What changes the answers of one node only; slices may. */
const ofOneNode: ReadonlySet<string> = new Set(["Node", "Pod", "ResourceSlice"]);

export function createOfflineScheduler({
  features,
  newId,
  now,
  environment,
}: OfflineOptions): OfflineScheduler {
  const allocator = createAllocator({
    newId,
    features: allocatorFeatures(features),
    ...(environment !== undefined && { environment }),
  });
  const rules = features.enabled("DRADeviceTaintRules");
  const classes = new Map<string, DeviceClass>();
  const namespaces = new Map<string, Namespace>();
  const claims = new MemoryClaims(allocator);
  const pending = new PendingAllocations(allocator);
  const podGroups = new Map<string, PodGroup>();
  const cache = new SchedulerCache(features.version);
  const first = (): number => 0;
  const extendedClass: ExtendedClass = (resource) =>
    preferredClass([...classes.values()].filter((one) => resourcesOf(one).includes(resource)));
  const groups = new PodGroups(
    (namespace, name) => podGroups.get(`${namespace}/${name}`),
    cache,
    features.version >= "1.37" || features.enabled("GangScheduling"),
  );
  const plugins = defaultPlugins({
    features,
    allocator,
    claims,
    pending,
    ...(hasPodGroups(features) && { groups }),
    deviceClass: (name) => classes.get(name),
    ...(features.enabled("DRAExtendedResource") && { extendedClass }),
    newId,
    namespaceLabels: (name) => namespaces.get(name)?.metadata.labels,
    now,
    random: first,
  });
  const points = extensionPoints(plugins);
  const cycle = new SchedulingCycle(points, {
    random: first,
    enough: (nodes) => nodes,
  });
  let sorted: ReturnType<typeof byName> | undefined;
  const alike = new AlikePods({
    cache,
    claim: (namespace, name) => claims.get(namespace, name),
    isNominated: (pod) => Boolean(pod.status?.nominatedNodeName),
    hasExtendedClaim: (pod) => claims.extended(pod) !== undefined,
  });

  const byName = () => cache.nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1));

  async function decide(pod: Pod): Promise<Decision> {
    for (;;) {
      sorted ??= byName();
      const decision = cycle.decide(pod, sorted, alike.answersTo(pod));
      if (decision.type === "placed") return decision;
      const { deallocated } = claims;
      for (const plugin of plugins)
        await plugin.postFilter?.(decision.state, pod, decision.diagnosis.rejections);
      // An idle claim gave its devices back: the pod is tried again.
      if (claims.deallocated === deallocated) return decision;
      alike.clear();
    }
  }

  type Attempt = Extract<Decision, { type: "placed" }> | Exclude<Placement, { type: "placed" }>;

  /** Pods of a group that are asked about one by one do not wait for the others. */
  function gateOf(pod: Pod, inGroup: boolean): string | undefined {
    for (const plugin of plugins) {
      const message = inGroup || plugin.name !== "GangScheduling" ? plugin.preEnqueue?.(pod) : undefined;
      if (message !== undefined) return message;
    }
    return undefined;
  }

  async function attempt(pod: Pod): Promise<Attempt> {
    const gate = gateOf(pod, false);
    if (gate !== undefined) return { type: "gated", message: gate };
    let decision: Decision;
    try {
      decision = await decide(pod);
    } catch (error) {
      return { type: "error", message: (error as Error).message };
    }
    if (decision.type === "placed") return decision;
    return refusedPlacement(decision.diagnosis);
  }

  const reserving: Reserving = {
    take(_profile, { pod }, { node, state }) {
      cache.assume(assumed(points, state, pod, node), node.name);
      for (const plugin of plugins) {
        const rejection = plugin.reserve?.(state, pod, node);
        if (rejection !== undefined) return rejection;
      }
      return undefined;
    },
    undo(_profile, pod, node, state) {
      cache.unassume(pod.metadata.uid);
      for (const plugin of plugins.toReversed()) plugin.undo?.(state, pod, node);
    },
  };

  /** Writes what is reserved, and puts the pod on its node for good. */
  async function settle(pod: Pod, { node, state }: Decision & { type: "placed" }): Promise<Placement> {
    alike.devicesTaken();
    for (const plugin of plugins) await plugin.preBind?.(state, pod, node);
    const known = assumed(points, state, pod, node);
    cache.setPod({ ...known, spec: { ...pod.spec, nodeName: node.name } });
    return { type: "placed", node: node.name };
  }

  const placeGroup = offlineGroups({
    groups,
    reserving,
    profile: { name: "", points, cycle },
    features,
    nodes: () => (sorted ??= byName()),
    gateOf: (pod) => gateOf(pod, true),
    settle,
    freed: () => {
      const before = claims.deallocated;
      return () => {
        const isFreed = claims.deallocated !== before;
        if (isFreed) alike.clear();
        return isFreed;
      };
    },
  });

  return {
    add(object) {
      if (!ofOneNode.has(object.kind)) alike.clear();
      switch (object.kind) {
        case "Node":
          cache.setNode(withPods(object as Node));
          sorted = undefined;
          break;
        case "Pod":
          groups.set(object as Pod);
          if (takesRoom(object as Pod)) cache.setPod(object as Pod);
          break;
        case "PodGroup":
          podGroups.set(`${object.metadata.namespace}/${object.metadata.name}`, object as PodGroup);
          break;
        case "Namespace":
          namespaces.set(object.metadata.name, object as Namespace);
          break;
        case "DeviceClass":
          classes.set(object.metadata.name, object as DeviceClass);
          allocator.update({ kind: "class", object: object as DeviceClass, deleted: false });
          break;
        case "DeviceTaintRule":
          if (rules) allocator.update({ kind: "rule", object: object as DeviceTaintRule, deleted: false });
          break;
        case "ResourceClaim":
          claims.set(object as ResourceClaim);
          break;
        case "ResourceSlice":
          alike.sliceChanged(object as ResourceSlice);
          allocator.update({ kind: "slice", object: object as ResourceSlice, deleted: false });
          break;
      }
    },
    async schedule(pod) {
      const decision = await attempt(pod);
      if (decision.type !== "placed") return decision;
      reserving.take({ name: "", points, cycle }, { pod }, decision);
      return settle(pod, decision);
    },
    scheduleGroup: placeGroup,
    async preview(pod) {
      const decision = await attempt(pod);
      return decision.type === "placed" ? { type: "placed", node: decision.node.name } : decision;
    },
    claim: (namespace, name) => claims.get(namespace, name),
    explain(pod, name) {
      const node = cache.node(name);
      const find = (claim: string) => claims.get(pod.metadata.namespace, claim);
      const found = claimsOf(pod, find, features.enabled("DRAWorkloadResourceClaims"));
      if (node === undefined || "problem" in found) return undefined;
      const open = found.claims.flatMap(({ claim }) =>
        claim.status?.allocation || pending.get(claim.metadata.uid) ? [] : [claim],
      );
      const served = servedResources(
        pod,
        node.allocatable,
        features.enabled("DRAExtendedResource") ? extendedClass : undefined,
      );
      if (served.size > 0) {
        const { requests } = extendedRequests(pod, served);
        open.push({
          ...extendedClaim(pod, pod.metadata.uid),
          spec: { devices: { requests: [...requests] } },
        });
      }
      return open.length === 0 ? undefined : allocator.explain(node.node, open);
    },
  };
}
