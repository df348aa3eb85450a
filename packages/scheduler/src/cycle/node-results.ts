import type { Rejection } from "../framework/framework.ts";
import type { NodeInfo } from "../framework/node-info.ts";

/** Result of one node for a pod. */
interface NodeResult {
  /** Version of the node when it was filtered. */
  readonly version: number;
  readonly rejection: Rejection | undefined;
  /** Number of the search whose state has what plugins keep of a feasible node. */
  readonly search: number;
  /** Score of each plugin before normalization; absent until the node is scored. */
  scores?: readonly number[];
}

/** Results of nodes for equivalent pods; the result of a node is valid until the node changes. */
export type NodeResults = Map<NodeInfo, NodeResult>;

/** Maximum number of pod signatures with cached results. */
const maxSignatures = 32;

/**
 * Equivalent pods have the same result on a node on which nothing has changed (the idea of KEP-5598). Only
 * for callers that clear the cache when anything but a pod on the node, or the node itself, changes its
 * result.
 */
export class ResultCache {
  readonly #kinds = new Map<string, NodeResults>();

  /** `signature` is the same for pods that are alike. */
  of(signature: string): NodeResults {
    const known = this.#kinds.get(signature);
    if (known !== undefined) return known;
    const [oldest] = this.#kinds.keys();
    if (oldest !== undefined && this.#kinds.size >= maxSignatures) this.#kinds.delete(oldest);
    const made: NodeResults = new Map();
    this.#kinds.set(signature, made);
    return made;
  }

  clear(): void {
    this.#kinds.clear();
  }
}
