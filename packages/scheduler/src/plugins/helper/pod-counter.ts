import type { Pod } from "@dray/api/core/v1";
import type { NodeInfo } from "../../framework/node-info.ts";

/** Number of pods of a node, and its version when they were counted. */
interface Count {
  version: number;
  pods: number;
}

export type CountPods = (node: NodeInfo) => number;

/** Maximum number of tests whose counts are kept. */
const maxTests = 64;

/**
 * How many pods of a node pass a test. The pods of a workload ask the same of the same nodes: only those that
 * have changed since the last pod are counted again.
 */
export class PodCounter {
  readonly #counts = new Map<string, Map<NodeInfo, Count>>();

  /**
   * `key` is the same for tests that the same pods pass; undefined: nothing is kept. `nodes`: how many there
   * are.
   */
  counting(key: string | undefined, nodes: number, test: (pod: Pod) => boolean): CountPods {
    const count: CountPods = ({ pods }) => {
      let passing = 0;
      for (const pod of pods.values()) if (test(pod)) passing++;
      return passing;
    };
    if (key === undefined) return count;
    const counts = this.#of(key, nodes);
    return (node) => {
      const known = counts.get(node);
      if (known === undefined) {
        const pods = count(node);
        counts.set(node, { version: node.version, pods });
        return pods;
      }
      if (known.version !== node.version) {
        known.pods = count(node);
        known.version = node.version;
      }
      return known.pods;
    };
  }

  #of(key: string, nodes: number): Map<NodeInfo, Count> {
    let counts = this.#counts.get(key);
    const [oldest] = this.#counts.keys();
    if (counts !== undefined) this.#counts.delete(key);
    else if (oldest !== undefined && this.#counts.size >= maxTests) this.#counts.delete(oldest);
    // Many of the nodes are gone.
    if (counts === undefined || counts.size > 2 * nodes) counts = new Map();
    this.#counts.set(key, counts);
    return counts;
  }
}
