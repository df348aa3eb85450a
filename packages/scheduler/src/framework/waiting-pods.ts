import type { Pod } from "@dray/api/core/v1";
import type { Clock } from "@dray/client";
import type { Rejection } from "./framework.ts";

interface Waiting {
  readonly pod: Pod;
  /** Cancels the timeouts, by the plugin that has not allowed the pod yet. */
  readonly timers: Map<string, () => void>;
  readonly resolve: (rejection: Rejection | undefined) => void;
}

/** Pods that have a node and are held back by Permit. */
export class WaitingPods {
  readonly #clock: Clock;
  readonly #pods = new Map<string, Waiting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get pods(): readonly Pod[] {
    return [...this.#pods.values()].map(({ pod }) => pod);
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /**
   * Resolves when all plugins have allowed the pod, or with the rejection by one; `timeouts` in milliseconds.
   */
  wait(pod: Pod, timeouts: ReadonlyMap<string, number>): Promise<Rejection | undefined> {
    const { uid } = pod.metadata;
    const { promise, resolve } = Promise.withResolvers<Rejection | undefined>();
    const timers = new Map<string, () => void>();
    this.#pods.set(uid, { pod, timers, resolve });
    for (const [plugin, timeout] of timeouts) {
      const reason = `rejected due to timeout after waiting ${timeout / 1000}s at plugin ${plugin}`;
      const expired = (): void => this.reject(uid, { plugin, reasons: [reason], resolvable: true });
      timers.set(plugin, this.#clock.after(timeout, expired));
    }
    return promise;
  }

  /** The plugin allows the pod; other plugins may still hold it. */
  allow(uid: string, plugin: string): void {
    const waiting = this.#pods.get(uid);
    const cancel = waiting?.timers.get(plugin);
    if (waiting === undefined || cancel === undefined) return;
    cancel();
    waiting.timers.delete(plugin);
    if (waiting.timers.size === 0) this.#end(uid, undefined);
  }

  reject(uid: string, rejection: Rejection): void {
    this.#end(uid, rejection);
  }

  close(): void {
    const rejection = { plugin: "", reasons: ["the scheduler ends"], resolvable: true };
    for (const uid of [...this.#pods.keys()]) this.#end(uid, rejection);
  }

  #end(uid: string, rejection: Rejection | undefined): void {
    const waiting = this.#pods.get(uid);
    if (waiting === undefined) return;
    this.#pods.delete(uid);
    for (const cancel of waiting.timers.values()) cancel();
    waiting.resolve(rejection);
  }
}
