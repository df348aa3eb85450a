import type { Pod } from "@dray/api/core/v1";

/** Pods that will run on a node once others have left it (`status.nominatedNodeName`). */
export class Nominator {
  readonly #byNode = new Map<string, Map<string, Pod>>();
  readonly #nodes = new Map<string, string>();
  readonly #changed: (node: string) => void;

  /** `changed` is called when a nomination to the node is added or removed: its filter results change. */
  constructor(changed: (node: string) => void = () => {}) {
    this.#changed = changed;
  }

  /** The pod's nomination; "" or undefined removes it. */
  set(pod: Pod, node: string | undefined): void {
    const { uid } = pod.metadata;
    if (this.#nodes.get(uid) !== (node || undefined)) {
      this.delete(uid);
      if (node) this.#changed(node);
    }
    if (!node) return;
    this.#nodes.set(uid, node);
    const pods = this.#byNode.get(node) ?? new Map<string, Pod>();
    this.#byNode.set(node, pods.set(uid, pod));
  }

  delete(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node === undefined) return;
    this.#nodes.delete(uid);
    const pods = this.#byNode.get(node);
    pods?.delete(uid);
    if (pods?.size === 0) this.#byNode.delete(node);
    this.#changed(node);
  }

  nodeOf(uid: string): string | undefined {
    return this.#nodes.get(uid);
  }

  on(node: string): readonly Pod[] {
    const pods = this.#byNode.get(node);
    return pods === undefined ? [] : [...pods.values()];
  }
}
