import type { Rejection } from "../framework/framework.ts";
import type { NodeInfo } from "../framework/node-info.ts";

/** What one node answered to a pod. */
interface Answer {
  /** Of the node when it was asked. */
  readonly version: number;
  readonly rejection: Rejection | undefined;
  /** What plugins keep of a node that passes is in the state of this search. */
  readonly search: number;
  /** Of each plugin that scores, before they are made comparable; absent where nobody has asked. */
  scores?: readonly number[];
}

/** The answers of nodes to pods that are alike; those of a node hold until it changes. */
export type NodeAnswers = Map<NodeInfo, Answer>;

/** Most kinds of pods whose answers are kept. */
const mostKinds = 32;

/**
 * Pods that are alike get the same answer from a node on which nothing has changed (KEP-5598 has the same idea). Only
 * for a caller that sees to it that nothing but a pod on it, or a new state of it, changes the answer of a node.
 */
export class Answers {
  readonly #kinds = new Map<string, NodeAnswers>();

  /** `signature` is the same for pods that are alike. */
  of(signature: string): NodeAnswers {
    const known = this.#kinds.get(signature);
    if (known !== undefined) return known;
    if (this.#kinds.size >= mostKinds) this.#kinds.delete(this.#kinds.keys().next().value!);
    const made: NodeAnswers = new Map();
    this.#kinds.set(signature, made);
    return made;
  }

  clear(): void {
    this.#kinds.clear();
  }
}
