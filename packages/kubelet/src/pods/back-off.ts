import { type Clock, ItemBackOff } from "@dray/client";
import { containerHash } from "../containers/container-hash.ts";
import type { StartableContainer } from "../types/containers.ts";

/**
 * Initial and maximum delay of CrashLoopBackOff, in milliseconds. Upstream: pkg/kubelet/kubelet.go,
 * MaxCrashLoopBackOff.
 */
export const crashBackOff = [10_000, 300_000] as const;

/**
 * The key of a container's back-off. A container with another image starts without a delay.
 *
 * Upstream: pkg/kubelet/kuberuntime/helpers.go, GetBackoffKey.
 */
export function crashKey(spec: StartableContainer): string {
  return `${spec.name}/${containerHash(spec)}`;
}

/** Initial and maximum delay between attempts in milliseconds; upstream's kubelet waits a minute or more. */
const startBackOff = [1000, 60_000] as const;

/** Back-off of the set-up of a pod, and of the starts of its containers. */
export class StartBackOff {
  readonly #clock: Clock;
  readonly #delays: ItemBackOff;
  readonly #failedAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#delays = new ItemBackOff(clock, ...startBackOff);
  }

  /** Records a failed attempt. Returns the milliseconds until the next one. */
  failed(key: string): number {
    this.#delays.next(key);
    this.#failedAt.set(key, this.#clock.now());
    return this.#delays.delay(key);
  }

  /** Records a failure of which the work queue keeps the back-off, so that `retry` finds it. */
  failedElsewhere(key: string): void {
    if (!this.#failedAt.has(key)) this.#failedAt.set(key, this.#clock.now());
  }

  succeeded(key: string): void {
    this.#delays.forget(key);
    this.#failedAt.delete(key);
  }

  /** Milliseconds until the next attempt; 0 if it is due. */
  left(key: string): number {
    const at = this.#failedAt.get(key);
    return at === undefined ? 0 : this.#delays.left(key, at);
  }

  /**
   * Makes the next attempt due without resetting its delay. Returns false if the last attempt did not fail.
   */
  retry(key: string): boolean {
    return this.#failedAt.delete(key);
  }

  /** As `retry`, for all keys. */
  retryAll(): boolean {
    if (this.#failedAt.size === 0) return false;
    this.#failedAt.clear();
    return true;
  }
}
