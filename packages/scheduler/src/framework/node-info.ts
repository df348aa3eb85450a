import type { KubernetesVersion } from "@dray/api";
import type { ContainerImage, Node, Pod } from "@dray/api/core/v1";
import { HostPorts, hostPortsOf } from "./host-ports.ts";
import { type Amounts, addTo, amountsOf, takenBy } from "./resources.ts";

/** A node with the pods that are on it or will be, and what they take. */
export class NodeInfo {
  readonly name: string;
  readonly #release: KubernetesVersion;
  #version = 0;
  #node: Node;
  #allocatable: Amounts;
  #images: ReadonlyMap<string, number> | undefined;
  readonly pods = new Map<string, Pod>();
  /** Those of them that say near which pods they are or are not, wish or demand. */
  readonly podsWithAffinity = new Set<Pod>();
  /** Those of them that keep other pods away (required anti-affinity). */
  readonly guarding = new Set<Pod>();
  readonly requested: Amounts = new Map();
  /** For scoring: with an assumption for containers that ask for nothing. */
  readonly scored = { cpu: 0, memory: 0 };
  readonly ports = new HostPorts();

  constructor(node: Node, release: KubernetesVersion) {
    this.name = node.metadata.name;
    this.#release = release;
    this.#node = node;
    this.#allocatable = amountsOf(node.status?.allocatable);
    images++;
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
    if (!sameImages(this.#node.status?.images, node.status?.images)) {
      this.#images = undefined;
      images++;
    }
    this.#node = node;
    this.#allocatable = amountsOf(node.status?.allocatable);
  }

  get allocatable(): Amounts {
    return this.#allocatable;
  }

  /** The images that the node has: bytes by each of their names. */
  get images(): ReadonlyMap<string, number> {
    this.#images ??= new Map(
      (this.#node.status?.images ?? []).flatMap(({ names = [], sizeBytes = 0 }) =>
        names.map((name): [string, number] => [name, Number(sizeBytes)]),
      ),
    );
    return this.#images;
  }

  add(pod: Pod): void {
    this.remove(pod.metadata.uid);
    this.pods.set(pod.metadata.uid, pod);
    const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
    if (podAffinity || podAntiAffinity) this.podsWithAffinity.add(pod);
    if (podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.length) this.guarding.add(pod);
    this.#count(pod, 1);
  }

  remove(uid: string): void {
    const pod = this.pods.get(uid);
    if (pod === undefined) return;
    this.pods.delete(uid);
    this.podsWithAffinity.delete(pod);
    this.guarding.delete(pod);
    this.#count(pod, -1);
  }

  #count(pod: Pod, sign: 1 | -1): void {
    this.#version++;
    const { requested, scored } = takenBy(pod, this.#release);
    addTo(this.requested, requested, sign);
    this.scored.cpu += sign * scored.cpu;
    this.scored.memory += sign * scored.memory;
    for (const port of hostPortsOf(pod)) this.ports.count(port, sign);
  }
}

let images = 0;

/** Changes whenever a node is added or the images of a node change: counts over nodes are stale then. */
export function imagesVersion(): number {
  return images;
}

function sameImages(before: readonly ContainerImage[] = [], after: readonly ContainerImage[] = []): boolean {
  if (before.length !== after.length) return false;
  return before.every(({ names = [], sizeBytes }, i) => {
    const { names: others = [], sizeBytes: otherSize } = after[i]!;
    return (
      sizeBytes === otherSize &&
      names.length === others.length &&
      names.every((name, j) => name === others[j])
    );
  });
}
