import type { KubernetesVersion } from "@dray/api";
import type { ContainerImage, Node, Pod } from "@dray/api/core/v1";
import { HostPorts, hostPortsOf } from "./host-ports.ts";
import { type Amounts, addTo, amountsOf, type PodUsage, takenBy } from "./resources.ts";

/** A node with the pods that are on it or will be, and what they take. */
export class NodeInfo {
  readonly name: string;
  readonly #release: KubernetesVersion;
  #version = 0;
  #node: Node;
  #allocatable: Amounts | undefined;
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
  /** Pods on the node that cannot be counted. */
  readonly #uncounted = new Map<string, { readonly pod: Pod; readonly error: Error }>();

  constructor(node: Node, release: KubernetesVersion) {
    this.name = node.metadata.name;
    this.#release = release;
    this.#node = node;
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
    this.#allocatable = undefined;
  }

  /** Those that cannot be counted, too. */
  get allPods(): ReadonlyMap<string, Pod> {
    if (this.#uncounted.size === 0) return this.pods;
    return new Map([...this.pods, ...[...this.#uncounted].map(([uid, { pod }]) => [uid, pod] as const)]);
  }

  /** Throws if the node cannot be read, or a pod on it: nobody knows what is left then. */
  get allocatable(): Amounts {
    for (const { error } of this.#uncounted.values()) throw error;
    this.#allocatable ??= amountsOf(this.#node.status?.allocatable);
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
    const { uid, namespace, name } = pod.metadata;
    this.remove(uid);
    let usage: Usage;
    try {
      usage = usageOf(pod, this.#release);
    } catch (error) {
      const message = `pod ${namespace}/${name}: ${(error as Error).message}`;
      this.#uncounted.set(uid, { pod, error: new TypeError(message, { cause: error }) });
      this.#version++;
      return;
    }
    this.pods.set(uid, pod);
    const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
    if (podAffinity || podAntiAffinity) this.podsWithAffinity.add(pod);
    if (podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.length) this.guarding.add(pod);
    this.#count(usage, 1);
  }

  remove(uid: string): void {
    if (this.#uncounted.delete(uid)) this.#version++;
    const pod = this.pods.get(uid);
    if (pod === undefined) return;
    this.pods.delete(uid);
    this.podsWithAffinity.delete(pod);
    this.guarding.delete(pod);
    this.#count(usageOf(pod, this.#release), -1);
  }

  #count({ requested, scored, ports }: Usage, sign: 1 | -1): void {
    this.#version++;
    addTo(this.requested, requested, sign);
    this.scored.cpu += sign * scored.cpu;
    this.scored.memory += sign * scored.memory;
    for (const port of ports) this.ports.count(port, sign);
  }
}

/** Resources and ports that a pod takes on its node. */
interface Usage extends PodUsage {
  readonly ports: ReturnType<typeof hostPortsOf>;
}

function usageOf(pod: Pod, release: KubernetesVersion): Usage {
  return { ...takenBy(pod, release), ports: hostPortsOf(pod) };
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
