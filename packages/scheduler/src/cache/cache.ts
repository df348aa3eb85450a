import type { KubernetesVersion } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { NodeInfo } from "../framework/node-info.ts";
import { interleaveZones, zoneOf } from "./node-tree.ts";

/** A pod takes room on its node until it has ended. */
export function takesRoom(pod: Pod): boolean {
  return (pod.spec.nodeName ?? "") !== "" && !isPodTerminal(pod);
}

/**
 * The scheduler's state of nodes and the pods on them, kept up to date by single changes. Pods that have been
 * given a node but are not bound yet are assumed to be there.
 */
export class SchedulerCache {
  readonly #release: KubernetesVersion;
  readonly #nodes = new Map<string, NodeInfo>();
  /** The same, as long as no node comes or goes. */
  #list: readonly NodeInfo[] | undefined;
  /** Node on which each pod is counted. */
  readonly #places = new Map<string, string>();
  readonly #assumed = new Set<string>();
  /** Pods whose node is not known (yet). */
  readonly #podsWithoutNode = new Map<string, Map<string, Pod>>();

  constructor(release: KubernetesVersion) {
    this.#release = release;
  }

  /** One of each zone in turn. */
  get nodes(): readonly NodeInfo[] {
    this.#list ??= interleaveZones(this.#nodes.values());
    return this.#list;
  }

  /** Returns how many there are of each. */
  counts(): Record<"nodes" | "pods" | "assumed_pods", number> {
    return { nodes: this.#nodes.size, pods: this.#places.size, assumed_pods: this.#assumed.size };
  }

  node(name: string): NodeInfo | undefined {
    return this.#nodes.get(name);
  }

  /** The node that the pod is on, or is assumed to be. */
  nodeOf(uid: string): NodeInfo | undefined {
    const name = this.#places.get(uid);
    return name === undefined ? undefined : this.#nodes.get(name);
  }

  /** Reports whether the pod is on a node, or assumed to be. */
  isPlaced(uid: string): boolean {
    return this.#places.has(uid);
  }

  setNode(node: Node): void {
    const { name } = node.metadata;
    const known = this.#nodes.get(name);
    if (known !== undefined) {
      if (zoneOf(known.node) !== zoneOf(node)) this.#list = undefined;
      known.node = node;
      return;
    }
    const info = new NodeInfo(node, this.#release);
    this.#nodes.set(name, info);
    this.#list = undefined;
    for (const pod of this.#podsWithoutNode.get(name)?.values() ?? []) info.add(pod);
    this.#podsWithoutNode.delete(name);
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (info === undefined) return;
    this.#nodes.delete(name);
    this.#list = undefined;
    if (info.allPods.size > 0) this.#podsWithoutNode.set(name, new Map(info.allPods));
  }

  /** The pod as the server has it; it counts if it is on a node and has not ended. */
  setPod(pod: Pod): void {
    const { uid } = pod.metadata;
    const { nodeName } = pod.spec;
    if (nodeName === undefined || nodeName === "") {
      // A pod that is assumed stays where it was put until its binding succeeds or fails.
      if (!this.#assumed.has(uid)) this.#forget(uid);
      return;
    }
    this.#assumed.delete(uid);
    if (takesRoom(pod)) this.#put(pod, nodeName);
    else this.#forget(uid);
  }

  removePod(uid: string): void {
    this.#assumed.delete(uid);
    this.#forget(uid);
  }

  assume(pod: Pod, node: string): void {
    this.#assumed.add(pod.metadata.uid);
    this.#put(pod, node);
  }

  /** The binding of an assumed pod failed. */
  unassume(uid: string): void {
    if (this.#assumed.delete(uid)) this.#forget(uid);
  }

  #put(pod: Pod, node: string): void {
    const { uid } = pod.metadata;
    if (this.#places.get(uid) !== node) this.#forget(uid);
    this.#places.set(uid, node);
    const info = this.#nodes.get(node);
    if (info !== undefined) info.add(pod);
    else {
      const waiting = this.#podsWithoutNode.get(node) ?? new Map<string, Pod>();
      this.#podsWithoutNode.set(node, waiting.set(uid, pod));
    }
  }

  #forget(uid: string): void {
    const place = this.#places.get(uid);
    if (place === undefined) return;
    this.#places.delete(uid);
    this.#nodes.get(place)?.remove(uid);
    const podsWithoutNode = this.#podsWithoutNode.get(place);
    if (podsWithoutNode?.delete(uid) && podsWithoutNode.size === 0) this.#podsWithoutNode.delete(place);
  }
}
