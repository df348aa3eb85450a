import { StatusError } from "@dray/api";
import { Lease } from "@dray/api/coordination/v1";
import type { Client } from "./client.ts";
import { type Clock, sleep } from "./clock.ts";
import type { Log } from "./log.ts";
import { microTimeText } from "./time.ts";

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
}

/**
 * Waits for the Lease, leads, and resolves when the lead is over: lost, given back, or `lead` has ended. Who loses
 * the lead must stop what it does before it tries again, so that is left to the caller.
 */
export async function leadWithLease(options: LeaderElectionOptions): Promise<void> {
  const { client, clock, log, namespace, name, identity, signal } = options;
  const leaseDuration = options.leaseDuration ?? 15_000;
  const renewDeadline = options.renewDeadline ?? 10_000;
  const retryPeriod = options.retryPeriod ?? 2_000;
  const leases = client.resource(Lease);
  const ref = { namespace, name };
  /** What was seen last and when by our clock: those of others are not trusted. */
  let seen: { readonly version: string; readonly at: number } | undefined;

  async function tryHold(): Promise<boolean> {
    const now = microTimeText(clock.now());
    const held = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.round(leaseDuration / 1000),
      renewTime: now,
    };
    let lease: Lease;
    try {
      lease = await leases.get(ref, { signal });
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
      const spec = { ...held, acquireTime: now, leaseTransitions: 0 };
      await leases.create({ metadata: ref, spec }, { signal });
      return true;
    }
    const { spec } = lease;
    if (seen?.version !== lease.metadata.resourceVersion)
      seen = { version: lease.metadata.resourceVersion, at: clock.now() };
    const mine = spec.holderIdentity === identity;
    const expiry = (spec.leaseDurationSeconds ?? leaseDuration / 1000) * 1000;
    if (!mine && spec.holderIdentity && clock.now() < seen.at + expiry) return false;
    const taken = mine ? {} : { acquireTime: now, leaseTransitions: (spec.leaseTransitions ?? 0) + 1 };
    await leases.update({ ...lease, spec: { ...spec, ...held, ...taken } }, { signal });
    return true;
  }

  async function attempt(): Promise<boolean> {
    try {
      return await tryHold();
    } catch (error) {
      log.debug({ lease: `${namespace}/${name}`, err: error }, "cannot get or renew the lease");
      return false;
    }
  }

  while (!signal.aborted && !(await attempt()))
    await sleep(clock, retryPeriod * (1 + options.random()), signal);
  if (signal.aborted) return;
  log.info({ lease: `${namespace}/${name}`, identity }, "leading");
  const leading = new AbortController();
  const stop = (): void => leading.abort();
  signal.addEventListener("abort", stop, { once: true });
  const work = options.lead(leading.signal).finally(stop);
  let renewed = clock.now();
  while (!leading.signal.aborted) {
    await sleep(clock, retryPeriod, leading.signal);
    if (leading.signal.aborted) break;
    if (await attempt()) renewed = clock.now();
    else if (clock.now() - renewed >= renewDeadline) {
      log.warn({ lease: `${namespace}/${name}`, identity }, "the lead is lost");
      leading.abort();
    }
  }
  signal.removeEventListener("abort", stop);
  await work;
  await giveBack();

  async function giveBack(): Promise<void> {
    try {
      const lease = await leases.get(ref);
      if (lease.spec.holderIdentity !== identity) return;
      const spec = {
        ...lease.spec,
        holderIdentity: "",
        leaseDurationSeconds: 1,
        renewTime: microTimeText(clock.now()),
      };
      await leases.update({ ...lease, spec });
    } catch (error) {
      // It runs out by itself.
      log.debug({ lease: `${namespace}/${name}`, err: error }, "cannot give the lease back");
    }
  }
}
