import type { Pod } from "@dray/api/core/v1";
import type { Clock } from "@dray/client";

/** Milliseconds until rejected pods of an owner are replaced, doubled with each round, and their maximum. */
const firstDelay = 100;
const maxDelay = 60_000;

interface Entry {
  at: number;
  delay: number;
  /** Rejected pods that have no successor yet. */
  pods: number;
}

/** True for a pod that its node turned away: it failed, and no container was ever set up. */
export function isRejected({ spec, status }: Pod): boolean {
  return (
    status?.phase === "Failed" &&
    Boolean(spec.nodeName) &&
    (status.containerStatuses ?? []).length === 0 &&
    (status.initContainerStatuses ?? []).length === 0
  );
}

/**
 * Back-off for the successors of pods that their nodes rejected. A node rejects within milliseconds, and the
 * scheduler may choose it again: without a delay one replica makes a hundred failed pods a second.
 * (kube-controller-manager has no such back-off; there only the limit of its client on requests slows this
 * down.)
 */
export class RejectionBackOff {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A pod of the owner with this UID was rejected. */
  add(owner: string): void {
    const now = this.#clock.now();
    const entry = this.#entries.get(owner);
    if (entry === undefined) this.#entries.set(owner, { at: now, delay: firstDelay, pods: 1 });
    else if (entry.pods > 0) entry.pods++;
    else {
      // Long enough without a rejection: forgiven.
      const forgiven = now - entry.at > 2 * maxDelay;
      entry.delay = forgiven ? firstDelay : Math.min(entry.delay * 2, maxDelay);
      entry.at = now;
      entry.pods = 1;
    }
  }

  /** Returns how many pods of the owner must not be replaced yet, and for how many milliseconds. */
  held(owner: string): { readonly pods: number; readonly wait: number } {
    const entry = this.#entries.get(owner);
    if (entry === undefined || entry.pods === 0) return { pods: 0, wait: 0 };
    const wait = entry.at + entry.delay - this.#clock.now();
    if (wait > 0) return { pods: entry.pods, wait };
    entry.pods = 0;
    return { pods: 0, wait: 0 };
  }

  /** The owner is gone. */
  forget(owner: string): void {
    this.#entries.delete(owner);
  }
}
