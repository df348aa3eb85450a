import { type Allocator, allocatorFeatures, createAllocator } from "@dray/allocator";
import type { Features } from "@dray/api";
import type { Namespace, Node, Pod } from "@dray/api/core/v1";
import type { DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { PodGroup } from "@dray/api/scheduling/v1beta1";
import { SchedulerCache, takesRoom } from "../cache/cache.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import {
  type ExtendedClass,
  preferredClass,
  resourcesOf,
} from "../plugins/dynamic-resources/extended-resources.ts";
import { MemoryClaims } from "../plugins/dynamic-resources/memory-claims.ts";
import { PendingAllocations } from "../plugins/dynamic-resources/pending-allocations.ts";
import { PodGroups } from "../podgroup/pod-groups.ts";
import { EquivalentPods } from "../shared/equivalent-pods.ts";
import type { OfflineObject, OfflineOptions } from "./types.ts";
import { OfflineVolumes } from "./volumes.ts";

/** The kubelet's default maxPods. */
const defaultMaxPods = "110";

/** Kinds whose objects change the results of one node only; slices may. */
const kindsOfOneNode: ReadonlySet<string> = new Set(["Node", "Pod", "ResourceSlice"]);

/** The objects of a cluster that exists in memory only, as plugins look them up. */
export class OfflineObjects {
  readonly allocator: Allocator;
  readonly claims: MemoryClaims;
  readonly pending: PendingAllocations;
  readonly cache: SchedulerCache;
  readonly groups: PodGroups;
  readonly equivalentPods: EquivalentPods;
  readonly classes = new Map<string, DeviceClass>();
  readonly namespaces = new Map<string, Namespace>();
  readonly volumes = new OfflineVolumes();
  readonly #features: Features;
  readonly #podGroups = new Map<string, PodGroup>();
  #sorted: readonly NodeInfo[] | undefined;

  constructor({ features, newId, environment }: Pick<OfflineOptions, "features" | "newId" | "environment">) {
    this.#features = features;
    this.allocator = createAllocator({
      newId,
      features: allocatorFeatures(features),
      ...(environment !== undefined && { environment }),
    });
    this.claims = new MemoryClaims(this.allocator);
    this.pending = new PendingAllocations(this.allocator);
    this.cache = new SchedulerCache(features.version);
    this.groups = new PodGroups(
      (namespace, name) => this.#podGroups.get(`${namespace}/${name}`),
      this.cache,
      features.version >= "1.37" || features.enabled("GangScheduling"),
    );
    this.equivalentPods = new EquivalentPods({
      cache: this.cache,
      claim: (namespace, name) => this.claims.get(namespace, name),
      isNominated: (pod) => Boolean(pod.status?.nominatedNodeName),
      hasExtendedClaim: (pod) => this.claims.extended(pod) !== undefined,
    });
  }

  /** The nodes by name. */
  get nodes(): readonly NodeInfo[] {
    this.#sorted ??= this.cache.nodes.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return this.#sorted;
  }

  readonly extendedClass: ExtendedClass = (resource) =>
    preferredClass([...this.classes.values()].filter((one) => resourcesOf(one).includes(resource)));

  /** As `OfflineScheduler.add`. */
  add(object: OfflineObject): void {
    if (!kindsOfOneNode.has(object.kind)) this.equivalentPods.clear();
    switch (object.kind) {
      case "Node":
        this.cache.setNode(withPods(object as Node));
        this.#sorted = undefined;
        break;
      case "Pod":
        this.groups.set(object as Pod);
        if (takesRoom(object as Pod)) this.cache.setPod(object as Pod);
        break;
      case "PodGroup":
        this.#podGroups.set(`${object.metadata.namespace}/${object.metadata.name}`, object as PodGroup);
        break;
      case "Namespace":
        this.namespaces.set(object.metadata.name, object as Namespace);
        break;
      case "DeviceClass":
        this.classes.set(object.metadata.name, object as DeviceClass);
        this.allocator.update({ kind: "class", object: object as DeviceClass, deleted: false });
        break;
      case "DeviceTaintRule":
        if (this.#features.enabled("DRADeviceTaintRules"))
          this.allocator.update({ kind: "rule", object: object as DeviceTaintRule, deleted: false });
        break;
      case "ResourceClaim":
        this.claims.set(object as ResourceClaim);
        break;
      case "ResourceSlice":
        this.equivalentPods.sliceChanged(object as ResourceSlice);
        this.allocator.update({ kind: "slice", object: object as ResourceSlice, deleted: false });
        break;
      default:
        this.volumes.add(object);
    }
  }
}

/**
 * A planned node need not have a number of pods. In a cluster, where the kubelet reports it, a node without
 * that number takes no pods.
 */
function withPods(node: Node): Node {
  const allocatable = node.status?.allocatable;
  if (allocatable?.["pods"] !== undefined) return node;
  return { ...node, status: { ...node.status, allocatable: { ...allocatable, pods: defaultMaxPods } } };
}
