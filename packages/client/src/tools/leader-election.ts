import { microTimeText, StatusError } from "@dray/api";
import { Lease } from "@dray/api/coordination/v1";
import type { Client } from "../client/client.ts";
import { type Clock, sleep } from "../clock.ts";
import type { Log } from "../log.ts";
import { withSignal } from "../transport/connection.ts";

export interface LeaderElectionOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly namespace: string;
  /** Name of the Lease. */
  readonly name: string;
  /** Differs between all that compete for the Lease. */
  readonly identity: string;
  /** Milliseconds: 15 s, 10 s and 2 s if absent, as in the Kubernetes components. */
  readonly leaseDuration?: number;
  readonly renewDeadline?: number;
  readonly retryPeriod?: number;
  /** Ends the candidacy; a Lease that is held is given back. */
  readonly signal: AbortSignal;
  /** The work of the leader; its signal aborts when the lead is lost or the candidacy ends. */
  lead(signal: AbortSignal): Promise<void>;
  /** Hears of each holder that is seen, this one among them; not of a Lease that nobody holds. */
  newLeader?(identity: string): void;
}

/** Candidates wait up to so many times the retry period longer, so that they do not all come at once. */
const jitter = 1.2;

/**
 * Waits for the Lease, leads, and resolves when the lead is over: lost, given back, or `lead` has ended. Who loses
 * the lead must stop what it does before it tries again, so that is left to the caller. The rules are those of
 * client-go's leaderelection, with release on cancel: another candidate takes the Lease over when it has seen the same
 * record for the lease duration by its own clock, whatever the clocks of others say; a leader that has not renewed
 * within the renew deadline leads no more. Rejects with a TypeError if the durations do not fit each other, and with
 * what `lead` rejects with.
 */
export async function leadWithLease(options: LeaderElectionOptions): Promise<void> {
  const { client, clock, log, namespace, name, identity, signal } = options;
  const { leaseDuration = 15_000, renewDeadline = 10_000, retryPeriod = 2_000 } = options;
  if (leaseDuration <= renewDeadline) throw new TypeError("leaseDuration must be greater than renewDeadline");
  if (renewDeadline <= retryPeriod * jitter)
    throw new TypeError("renewDeadline must be greater than retryPeriod*JitterFactor");
  if (retryPeriod < 1) throw new TypeError("retryPeriod must be greater than zero");
  if (identity === "") throw new TypeError("Lock identity is empty");

  const leases = client.resource(Lease);
  const ref = { namespace, name };
  const fields = { lease: `${namespace}/${name}`, identity };
  /** The Lease as it was seen last, and when by our clock that record was seen first. */
  let observed: { readonly lease: Lease; readonly at: number } | undefined;
  let reported = "";

  function observe(lease: Lease): void {
    const same = observed !== undefined && JSON.stringify(lease.spec) === JSON.stringify(observed.lease.spec);
    observed = { lease, at: same && observed !== undefined ? observed.at : clock.now() };
    const holder = lease.spec.holderIdentity ?? "";
    if (holder === reported) return;
    reported = holder;
    if (holder !== "") options.newLeader?.(holder);
  }

  const isMine = (): boolean => observed?.lease.spec.holderIdentity === identity;
  const isValid = (): boolean =>
    observed !== undefined &&
    observed.at + (observed.lease.spec.leaseDurationSeconds ?? 0) * 1000 > clock.now();

  async function write(lease: Lease, spec: Lease["spec"], stop: AbortSignal): Promise<void> {
    observe(await leases.update({ ...lease, spec: { ...lease.spec, ...spec } }, { signal: stop }));
  }

  /** Acquires the Lease, or renews it; false if another holds it. */
  async function tryHold(stop: AbortSignal): Promise<boolean> {
    const now = microTimeText(clock.now());
    const leaseDurationSeconds = Math.floor(leaseDuration / 1000);
    const held = { holderIdentity: identity, leaseDurationSeconds, renewTime: now };
    if (observed !== undefined && isMine() && isValid()) {
      // What was seen last is most likely still there: one request instead of two.
      try {
        await write(observed.lease, held, stop);
        return true;
      } catch (error) {
        if (stop.aborted) throw error;
        log.debug({ ...fields, err: error }, "the lease has changed meanwhile");
      }
    }
    let lease: Lease;
    try {
      lease = await leases.get(ref, { signal: stop });
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
      const spec = { ...held, acquireTime: now, leaseTransitions: 0 };
      observe(await leases.create({ metadata: ref, spec }, { signal: stop }));
      return true;
    }
    observe(lease);
    if (lease.spec.holderIdentity && isValid() && !isMine()) return false;
    const taken = { acquireTime: now, leaseTransitions: (lease.spec.leaseTransitions ?? 0) + 1 };
    await write(lease, { ...held, ...(isMine() ? {} : taken) }, stop);
    return true;
  }

  /** One try; whatever keeps it from an answer, it ends with the signal. */
  async function attempt(stop: AbortSignal): Promise<boolean> {
    try {
      return await withSignal(tryHold(stop), stop);
    } catch (error) {
      if (!stop.aborted) log.debug({ ...fields, err: error }, "cannot get or renew the lease");
      return false;
    }
  }

  async function renewInTime(stop: AbortSignal): Promise<boolean> {
    const late = new AbortController();
    const cancel = clock.after(renewDeadline, () => late.abort());
    const either = AbortSignal.any([stop, late.signal]);
    try {
      while (!either.aborted) {
        if (await attempt(either)) return true;
        await sleep(clock, retryPeriod, either);
      }
      return false;
    } finally {
      cancel();
    }
  }

  async function giveBack(): Promise<void> {
    const late = new AbortController();
    const cancel = clock.after(renewDeadline, () => late.abort());
    try {
      const lease = await withSignal(leases.get(ref, { signal: late.signal }), late.signal);
      if (lease.spec.holderIdentity !== identity) return;
      const now = microTimeText(clock.now());
      const spec = { holderIdentity: "", leaseDurationSeconds: 1, renewTime: now, acquireTime: now };
      await withSignal(write(lease, spec, late.signal), late.signal);
    } catch (error) {
      // It runs out by itself.
      log.debug({ ...fields, err: error }, "cannot give the lease back");
    } finally {
      cancel();
    }
  }

  while (!signal.aborted && !(await attempt(signal)))
    await sleep(clock, retryPeriod * (1 + jitter * options.random()), signal);
  if (signal.aborted) return;
  log.info(fields, "leading");
  const leading = new AbortController();
  const stop = (): void => leading.abort();
  signal.addEventListener("abort", stop, { once: true });
  const work = Promise.resolve(options.lead(leading.signal)).finally(stop);
  const renewing = (async () => {
    while (!leading.signal.aborted) {
      await sleep(clock, retryPeriod, leading.signal);
      if (leading.signal.aborted || (await renewInTime(leading.signal)) || leading.signal.aborted) continue;
      log.warn(fields, "the lead is lost");
      leading.abort();
    }
    signal.removeEventListener("abort", stop);
  })();
  // The Lease is given back when the work has ended, not before: nobody else leads while it goes on.
  await Promise.allSettled([work, renewing]);
  await giveBack();
  await work;
}
