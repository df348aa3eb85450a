import type { KubernetesVersion } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import { type Amounts, addTo, amountsOf, takenBy } from "./resources.ts";

/** A node with the pods that are on it or will be, and what they take. */
export class NodeInfo {
  readonly name: string;
  readonly #release: KubernetesVersion;
  #version = 0;
  #node: Node;
  #allocatable: Amounts;
  readonly pods = new Map<string, Pod>();
  /** Those of them that keep other pods away (required anti-affinity). */
  readonly guarding = new Set<Pod>();
  readonly requested: Amounts = new Map();
  /** For scoring: with an assumption for containers that ask for nothing. */
  readonly scored = { cpu: 0, memory: 0 };

  constructor(node: Node, release: KubernetesVersion) {
    this.name = node.metadata.name;
    this.#release = release;
    this.#node = node;
    this.#allocatable = amountsOf(node.status?.allocatable);
  }

  /** Another one with every change of the node, of the pods on it or of its devices. */
  get version(): number {
    return this.#version;
  }

  /** Its devices are not what they were. */
  changed(): void {
    this.#version++;
  }

  get node(): Node {
    return this.#node;
  }

  set node(node: Node) {
    this.#version++;
    this.#node = node;
    this.#allocatable = amountsOf(node.status?.allocatable);
  }

  get allocatable(): Amounts {
    return this.#allocatable;
  }

  add(pod: Pod): void {
    this.remove(pod.metadata.uid);
    this.pods.set(pod.metadata.uid, pod);
    if (pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.length)
      this.guarding.add(pod);
    this.#count(pod, 1);
  }

  remove(uid: string): void {
    const pod = this.pods.get(uid);
    if (pod === undefined) return;
    this.pods.delete(uid);
    this.guarding.delete(pod);
    this.#count(pod, -1);
  }

  #count(pod: Pod, sign: 1 | -1): void {
    this.#version++;
    const { requested, scored } = takenBy(pod, this.#release);
    addTo(this.requested, requested, sign);
    this.scored.cpu += sign * scored.cpu;
    this.scored.memory += sign * scored.memory;
  }
}
