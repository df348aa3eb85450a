import { microTimeText, StatusError } from "@dray/api";
import { Lease } from "@dray/api/coordination/v1";
import { type Clock, sleep } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Client } from "../client/client.ts";
import type { ClientMetrics } from "../metrics/client-metrics.ts";
import type { ResourceClient } from "../rest/resource-client.ts";
import { withSignal } from "../transport/connection.ts";

export interface LeaderElectionOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly namespace: string;
  /** Name of the Lease. */
  readonly name: string;
  /** Unique among the candidates for the Lease. */
  readonly identity: string;
  /** Milliseconds: 15 s, 10 s and 2 s if absent, as in the Kubernetes components. */
  readonly leaseDuration?: number;
  readonly renewDeadline?: number;
  readonly retryPeriod?: number;
  /** Shows whether this candidate leads. */
  readonly metrics?: Pick<ClientMetrics, "setLeader">;
  /** Ends the candidacy. A Lease that is held is released. */
  readonly signal: AbortSignal;
  /** Runs while this candidate leads. Its signal aborts when the lead is lost or the candidacy ends. */
  lead(signal: AbortSignal): Promise<void>;
  /**
   * Called with the identity of each new holder, this candidate included; not for a Lease without a holder.
   */
  newLeader?(identity: string): void;
}

/**
 * Maximum extra delay of a candidate, as a multiple of the retry period. Upstream:
 * leaderelection.JitterFactor.
 */
const jitter = 1.2;

/**
 * Waits for the Lease, leads, and resolves when the lead has ended: lost, released, or because `lead` has
 * ended. Does not compete again: a component that has lost the lead must first stop its work.
 *
 * Another candidate takes over the Lease when it has seen the same record for the lease duration by its own
 * clock; times of other clocks are ignored. A leader that has not renewed within the renew deadline stops
 * leading.
 *
 * Rejects with a TypeError if the durations do not fit each other, and with the error of `lead`.
 *
 * Upstream: client-go, tools/leaderelection, with ReleaseOnCancel.
 */
export function leadWithLease(options: LeaderElectionOptions): Promise<void> {
  return new LeaderElector(options).run();
}

class LeaderElector {
  readonly #options: LeaderElectionOptions;
  readonly #leaseDuration: number;
  readonly #renewDeadline: number;
  readonly #retryPeriod: number;
  readonly #leases: ResourceClient<Lease>;
  /** For logs. */
  readonly #fields: { readonly lease: string; readonly identity: string };
  /** The Lease as last seen, and when by our clock this record was first seen. */
  #observed: { readonly lease: Lease; readonly since: number } | undefined;
  #reportedHolder = "";

  constructor(options: LeaderElectionOptions) {
    const { namespace, name, identity } = options;
    this.#options = options;
    this.#leaseDuration = options.leaseDuration ?? 15_000;
    this.#renewDeadline = options.renewDeadline ?? 10_000;
    this.#retryPeriod = options.retryPeriod ?? 2_000;
    this.#leases = options.client.resource(Lease);
    this.#fields = { lease: `${namespace}/${name}`, identity };
  }

  async run(): Promise<void> {
    this.#checkOptions();
    const { clock, log, random, signal, metrics, name } = this.#options;
    metrics?.setLeader(name, false);
    while (!signal.aborted && !(await this.#attempt(signal)))
      await sleep(clock, this.#retryPeriod * (1 + jitter * random()), signal);
    if (signal.aborted) return;
    log.info(this.#fields, "leading");
    metrics?.setLeader(name, true);
    const leading = new AbortController();
    leading.signal.addEventListener("abort", () => metrics?.setLeader(name, false), { once: true });
    const stop = (): void => leading.abort();
    signal.addEventListener("abort", stop, { once: true });
    const work = Promise.resolve(this.#options.lead(leading.signal)).finally(stop);
    const renewal = this.#renewUntilLost(leading).finally(() => signal.removeEventListener("abort", stop));
    // Released only when the work has ended: no other candidate leads in the meantime.
    await Promise.allSettled([work, renewal]);
    await this.#release();
    await work;
  }

  #checkOptions(): void {
    if (this.#leaseDuration <= this.#renewDeadline)
      throw new TypeError("leaseDuration must be greater than renewDeadline");
    if (this.#renewDeadline <= this.#retryPeriod * jitter)
      throw new TypeError("renewDeadline must be greater than retryPeriod*JitterFactor");
    if (this.#retryPeriod < 1) throw new TypeError("retryPeriod must be greater than zero");
    if (this.#options.identity === "") throw new TypeError("Lock identity is empty");
  }

  #observe(lease: Lease): void {
    const last = this.#observed;
    const isSame = last !== undefined && JSON.stringify(lease.spec) === JSON.stringify(last.lease.spec);
    this.#observed = { lease, since: isSame ? last.since : this.#options.clock.now() };
    const holder = lease.spec.holderIdentity ?? "";
    if (holder === this.#reportedHolder) return;
    this.#reportedHolder = holder;
    if (holder !== "") this.#options.newLeader?.(holder);
  }

  #isLeader(): boolean {
    return this.#observed?.lease.spec.holderIdentity === this.#options.identity;
  }

  #isLeaseValid(): boolean {
    if (this.#observed === undefined) return false;
    const { lease, since } = this.#observed;
    return since + (lease.spec.leaseDurationSeconds ?? 0) * 1000 > this.#options.clock.now();
  }

  async #update(lease: Lease, spec: Lease["spec"], signal: AbortSignal): Promise<void> {
    this.#observe(await this.#leases.update({ ...lease, spec: { ...lease.spec, ...spec } }, { signal }));
  }

  /** Acquires or renews the Lease. Returns false if another candidate holds it. */
  async #tryAcquireOrRenew(signal: AbortSignal): Promise<boolean> {
    const { clock, log, namespace, name, identity } = this.#options;
    const now = microTimeText(clock.now());
    const leaseDurationSeconds = Math.floor(this.#leaseDuration / 1000);
    const held = { holderIdentity: identity, leaseDurationSeconds, renewTime: now };
    if (this.#observed !== undefined && this.#isLeader() && this.#isLeaseValid()) {
      // Optimistic: one request instead of two if the Lease has not been changed.
      try {
        await this.#update(this.#observed.lease, held, signal);
        return true;
      } catch (error) {
        if (signal.aborted) throw error;
        log.debug({ ...this.#fields, err: error }, "the lease has changed meanwhile");
      }
    }
    let lease: Lease;
    try {
      lease = await this.#leases.get({ namespace, name }, { signal });
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
      const spec = { ...held, acquireTime: now, leaseTransitions: 0 };
      this.#observe(await this.#leases.create({ metadata: { namespace, name }, spec }, { signal }));
      return true;
    }
    this.#observe(lease);
    if (lease.spec.holderIdentity && this.#isLeaseValid() && !this.#isLeader()) return false;
    const acquired = { acquireTime: now, leaseTransitions: (lease.spec.leaseTransitions ?? 0) + 1 };
    await this.#update(lease, { ...held, ...(this.#isLeader() ? {} : acquired) }, signal);
    return true;
  }

  /** Tries once. Ends with the signal, even if the server does not respond. */
  async #attempt(signal: AbortSignal): Promise<boolean> {
    try {
      return await withSignal(this.#tryAcquireOrRenew(signal), signal);
    } catch (error) {
      if (!signal.aborted)
        this.#options.log.debug({ ...this.#fields, err: error }, "cannot get or renew the lease");
      return false;
    }
  }

  async #renewUntilLost(leading: AbortController): Promise<void> {
    const { clock, log } = this.#options;
    while (!leading.signal.aborted) {
      await sleep(clock, this.#retryPeriod, leading.signal);
      if (leading.signal.aborted || (await this.#renew(leading.signal)) || leading.signal.aborted) continue;
      log.warn(this.#fields, "the lead is lost");
      leading.abort();
    }
  }

  /** Retries until the renew deadline. */
  async #renew(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    const deadline = new AbortController();
    const cancel = clock.after(this.#renewDeadline, () => deadline.abort());
    const either = AbortSignal.any([signal, deadline.signal]);
    try {
      while (!either.aborted) {
        if (await this.#attempt(either)) return true;
        await sleep(clock, this.#retryPeriod, either);
      }
      return false;
    } finally {
      cancel();
    }
  }

  async #release(): Promise<void> {
    const { clock, log, namespace, name, identity } = this.#options;
    const deadline = new AbortController();
    const cancel = clock.after(this.#renewDeadline, () => deadline.abort());
    const { signal } = deadline;
    try {
      const lease = await withSignal(this.#leases.get({ namespace, name }, { signal }), signal);
      if (lease.spec.holderIdentity !== identity) return;
      const now = microTimeText(clock.now());
      const spec = { holderIdentity: "", leaseDurationSeconds: 1, renewTime: now, acquireTime: now };
      await withSignal(this.#update(lease, spec, signal), signal);
    } catch (error) {
      // It expires.
      log.debug({ ...this.#fields, err: error }, "cannot give the lease back");
    } finally {
      cancel();
    }
  }
}
