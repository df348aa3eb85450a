import { type Clock, type Log, sleep } from "@dray/client";
import type { Claims } from "./claims.ts";

/** Milliseconds; the longest lies below the 30 seconds that a pod has to end by default. */
const waiting = { quiet: 3000, longest: 20_000, every: 100 } as const;

export interface EndingOptions {
  readonly claims: Pick<Claims, "prepared" | "unpreparedAt">;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the waiting early. */
  readonly signal: AbortSignal;
}

/**
 * Resolves when a driver that has been stopped may stop serving. When it is deleted together with the pods
 * that use its devices, their containers end after its signal, and only it can unprepare their claims:
 * without it the pods would stay. So: at once where no claim is prepared; else when for 3 seconds no claim
 * was unprepared, since those that remain belong to pods that go on running; after 20 seconds in any case.
 */
export async function claimsAreLeft({ claims, clock, log, signal }: EndingOptions): Promise<void> {
  const begun = clock.now();
  for (let first = true; !signal.aborted; first = false) {
    const prepared = await claims.prepared();
    if (prepared === 0) return;
    if (first) log.info({ claims: prepared }, "Waiting for prepared claims to be unprepared before the end");
    const now = clock.now();
    const last = Math.max(begun, claims.unpreparedAt ?? begun);
    if (now >= Math.min(last + waiting.quiet, begun + waiting.longest)) {
      log.info({ claims: prepared }, "Ending with claims that stay prepared");
      return;
    }
    await sleep(clock, waiting.every, signal);
  }
}
