import type { Pod } from "@dray/api/core/v1";
import type { Log } from "@dray/client";
import type { Candidate } from "../framework/candidate.ts";
import type { Rejection } from "../framework/framework.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import type { Extender, Filtered } from "./extender.ts";

/**
 * All extenders of a scheduler. Upstream: pkg/scheduler/schedule_one.go, findNodesThatPassExtenders and
 * prioritizeNodes.
 */
export class Extenders {
  readonly #extenders: readonly Extender[];
  readonly #log: Log;

  constructor(extenders: readonly Extender[], log: Log) {
    this.#extenders = extenders;
    this.#log = log;
  }

  /** Reports whether one of them is interested in the pod. */
  isInterestedIn(pod: Pod): boolean {
    return this.#extenders.some(
      (extender) =>
        (extender.filter !== undefined || extender.prioritize !== undefined) && extender.isInterested(pod),
    );
  }

  /** One after the other: each sees the nodes that those before it have left. */
  async filter(pod: Pod, nodes: readonly NodeInfo[]): Promise<Filtered> {
    const rejections = new Map<string, Rejection>();
    let left = nodes;
    for (const extender of this.#extenders) {
      if (left.length === 0) break;
      const { filter } = extender;
      if (filter === undefined || !extender.isInterested(pod)) continue;
      const asked = left;
      const found = await this.#unlessIgnored(extender, () => filter(pod, asked));
      if (found === undefined) continue;
      for (const [node, rejection] of found.rejections) rejections.set(node, rejection);
      left = found.nodes;
    }
    return { nodes: left, rejections };
  }

  /** The sum of their scores by node; one that fails gives none. */
  async prioritize(pod: Pod, nodes: readonly NodeInfo[]): Promise<ReadonlyMap<string, number>> {
    const sums = new Map<string, number>();
    await Promise.all(
      this.#extenders.map(async (extender) => {
        const { prioritize } = extender;
        if (prioritize === undefined || !extender.isInterested(pod)) return;
        try {
          for (const [node, score] of await prioritize(pod, nodes))
            sums.set(node, (sums.get(node) ?? 0) + score);
        } catch (error) {
          this.#log.debug({ err: error }, "an extender gives no scores");
        }
      }),
    );
    return sums;
  }

  /** Reports whether an extender has bound the pod. */
  async bind(pod: Pod, node: NodeInfo): Promise<boolean> {
    for (const extender of this.#extenders) {
      const { bind } = extender;
      if (bind === undefined || !extender.isInterested(pod)) continue;
      const bound = await this.#unlessIgnored(extender, async () => {
        await bind(pod, node.name);
        return true;
      });
      if (bound) return true;
    }
    return false;
  }

  preemptsFor(pod: Pod): boolean {
    return this.#extenders.some((extender) => extender.preempt !== undefined && extender.isInterested(pod));
  }

  async preempt(pod: Pod, candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
    let left = candidates;
    for (const extender of this.#extenders) {
      if (left.length === 0) break;
      const { preempt } = extender;
      if (preempt === undefined || !extender.isInterested(pod)) continue;
      const asked = left;
      left = (await this.#unlessIgnored(extender, () => preempt(pod, asked))) ?? left;
    }
    return left;
  }

  /** Undefined if the extender has failed and may. */
  async #unlessIgnored<T>(extender: Extender, run: () => Promise<T>): Promise<T | undefined> {
    try {
      return await run();
    } catch (error) {
      if (!extender.ignorable) throw error;
      this.#log.info({ err: error }, "an extender has failed and is ignored");
      return undefined;
    }
  }
}
