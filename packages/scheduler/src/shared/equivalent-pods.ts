import { encodeJSON } from "@dray/api";
import type { Container, Node, Pod, Volume } from "@dray/api/core/v1";
import type { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { SchedulerCache } from "../cache/cache.ts";
import { type NodeResults, ResultCache } from "../cycle/node-results.ts";
import { claimsOf, onlyNode, sameDevices } from "../plugins/dynamic-resources/pod-claims.ts";
import type { Informers } from "./informers.ts";

export interface EquivalentPodsOptions {
  readonly cache: SchedulerCache;
  /** The newest state of a claim. */
  readonly claim: (namespace: string, name: string) => ResourceClaim | undefined;
  /** Whether the pod will run on a node once others have left it. */
  readonly isNominated: (pod: Pod) => boolean;
  /** Whether an earlier attempt has left a claim for extended resources of the pod. */
  readonly hasExtendedClaim: (pod: Pod) => boolean;
}

/**
 * Results of nodes for equivalent pods: the replicas of a workload are scheduled one after another,
 * and from one to the next only the chosen node has changed (the idea of KEP-5598). A node is filtered again
 * when it, a pod on it or its devices have changed; all are when something changes that any node may reach.
 */
export class EquivalentPods {
  readonly #options: EquivalentPodsOptions;
  readonly #results = new ResultCache();
  /**
   * The slices of each pool by name, with the node that alone reaches their devices; undefined: several do.
   */
  readonly #pools = new Map<string, Map<string, string | undefined>>();
  /** Pools whose devices several nodes reach. */
  readonly #sharedPools = new Set<string>();

  constructor(options: EquivalentPodsOptions) {
    this.#options = options;
  }

  /** Returns undefined for a pod that has no equivalent, or whose results depend on other nodes. */
  resultsFor(pod: Pod): NodeResults | undefined {
    const signature = this.#signatureOf(pod);
    return signature === undefined ? undefined : this.#results.of(signature);
  }

  /** All nodes are asked again. */
  clear(): void {
    this.#results.clear();
  }

  /** A pod was given devices, or gives them back: `NodeInfo` has noticed, but others may reach them too. */
  devicesTaken(): void {
    if (this.#sharedPools.size > 0) this.clear();
  }

  sliceChanged({ metadata, spec: { driver, pool, nodeName } }: ResourceSlice, deleted = false): void {
    const key = `${driver}/${pool.name}`;
    const wasShared = this.#sharedPools.has(key);
    const slices = this.#pools.get(key) ?? new Map<string, string | undefined>();
    if (deleted) slices.delete(metadata.name);
    else slices.set(metadata.name, nodeName);
    const nodes = new Set(slices.values());
    if (slices.size === 0) this.#pools.delete(key);
    else this.#pools.set(key, slices);
    if (nodes.size > 1 || nodes.has(undefined)) this.#sharedPools.add(key);
    else this.#sharedPools.delete(key);
    if (wasShared || this.#sharedPools.has(key) || nodeName === undefined) this.clear();
    else this.#options.cache.node(nodeName)?.changed();
  }

  claimChanged(claim: ResourceClaim | undefined, old: ResourceClaim | undefined): void {
    const [now, before] = [claim?.status?.allocation, old?.status?.allocation];
    if (now === before || (now && before && sameDevices(now, before))) return;
    for (const allocation of [before, now]) {
      if (allocation === undefined) continue;
      const node = onlyNode(allocation);
      if (this.#sharedPools.size > 0 || node === undefined) this.clear();
      else this.#options.cache.node(node)?.changed();
    }
  }

  /** Clears results when objects change that filters depend on, other than pods and nodes. */
  follow({ slices, claims, classes, rules, nodes, volumes, volumeClaims, storageClasses }: Informers): void {
    const slice = (object: ResourceSlice): void => this.sliceChanged(object);
    slices.handle({ add: slice, update: slice, delete: (object) => this.sliceChanged(object, true) });
    claims.handle({
      add: (claim) => this.claimChanged(claim, undefined),
      update: (claim, old) => this.claimChanged(claim, old),
      delete: (claim) => this.claimChanged(undefined, claim),
    });
    const clear = (): void => this.clear();
    for (const informer of [classes, rules, volumes, volumeClaims, storageClasses])
      informer?.handle({ add: clear, update: clear, delete: clear });
    nodes.handle({
      add: clear,
      // How widely an image is spread counts on every node.
      update: (node, old) => {
        if (encodeJSON(imagesOf(node)) !== encodeJSON(imagesOf(old))) this.clear();
      },
      delete: clear,
    });
  }

  /** The same for pods between which a node can make no difference. */
  #signatureOf(pod: Pod): string | undefined {
    const { claim, hasExtendedClaim, isNominated } = this.#options;
    const found = claimsOf(pod, (name) => claim(pod.metadata.namespace, name));
    if ("problem" in found || hasExtendedClaim(pod) || isNominated(pod)) return undefined;
    if (found.claims.some((each) => each.claim.status?.allocation !== undefined)) return undefined;
    const { resourceClaims: _c, volumes = [], containers, initContainers, hostname: _h, ...spec } = pod.spec;
    if (volumes.some(bindsToNodes)) return undefined;
    const distinct = [...new Set(found.claims.map((each) => each.claim))];
    // Labels matter only if results depend on other nodes.
    const { namespace, ownerReferences } = pod.metadata;
    return encodeJSON([
      [namespace, ownerReferences, spec],
      [containers.map(scheduled), initContainers?.map(scheduled)],
      // Names of claims make no difference, but whether two are the same claim, and who uses them, does.
      distinct.map((each) => each.spec),
      found.claims.map(({ entry, claim: named }) => [
        distinct.indexOf(named),
        [...containers, ...(initContainers ?? [])].flatMap(({ resources }, i) =>
          resources?.claims?.some((used) => used.name === entry.name) ? [i] : [],
        ),
      ]),
    ]);
  }
}

const imagesOf = ({ status }: Node): unknown => status?.images ?? [];

/** The fields of a container that plugins read. */
function scheduled({
  env,
  envFrom,
  command,
  args,
  volumeMounts,
  resources,
  ...container
}: Container): unknown {
  // Claims are named by entries of the pod.
  const { claims: _, ...amounts } = resources ?? {};
  return { ...container, resources: amounts };
}

/** Volumes that are made from nothing but the pod and its configuration may be on any node. */
const anywhere: ReadonlySet<string> = new Set([
  "name",
  "configMap",
  "downwardAPI",
  "emptyDir",
  "hostPath",
  "image",
  "projected",
  "secret",
]);

function bindsToNodes(volume: Volume): boolean {
  return Object.keys(volume).some((source) => !anywhere.has(source));
}
