import { StatusError } from "@dray/api";
import { Lease } from "@dray/api/coordination/v1";
import { type Client, type Clock, type Log, microTimeText, sleep } from "@dray/client";

export interface NodeLeaseOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  /** UID of the Node; undefined while it is unknown. */
  nodeUid(): string | undefined;
}

const namespace = "kube-node-lease";
const leaseSeconds = 40;
const renewInterval = 10_000;
/** Maximum number of attempts to renew without a delay. */
const maxUpdates = 5;
/** Initial and maximum delay in milliseconds before the lease is ensured again. */
const delays = { first: 200, max: 7_000 };

/**
 * Renews the lease of a node every ten seconds, with five attempts; if all fail, it ensures with back-off
 * that the lease exists, and renews that.
 *
 * Upstream: k8s.io/component-helpers/apimachinery/lease, controller.sync.
 */
export class NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #stop = new AbortController();
  #latest: Lease | undefined;
  #renewing: Promise<void> | undefined;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
  }

  /** Takes or creates the lease, and renews it until `stop`. Rejects if the server refuses. */
  async start(): Promise<void> {
    const { lease, created } = await this.#ensure();
    this.#latest = created ? lease : await this.#update(lease);
    this.#renewing ??= this.#renewUntilStopped();
  }

  /** Resolves when nothing more is written. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#renewing;
  }

  async #renewUntilStopped(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stop;
    for (;;) {
      await sleep(clock, renewInterval, signal);
      if (signal.aborted) return;
      try {
        await this.#renew();
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, "the lease of the node could not be renewed");
      }
    }
  }

  async #renew(): Promise<void> {
    if (this.#latest !== undefined) {
      try {
        await this.#updateRepeatedly(this.#latest);
        return;
      } catch (error) {
        this.#stop.signal.throwIfAborted();
        this.#options.log.info({ err: error }, "the lease of the node is looked for");
      }
    }
    const { lease, created } = await this.#ensureWithBackOff();
    this.#latest = lease;
    if (!created) await this.#updateRepeatedly(lease);
  }

  /** Rejects with the last error. */
  async #updateRepeatedly(base: Lease): Promise<void> {
    let lease = base;
    for (let attempt = 1; ; attempt++) {
      this.#stop.signal.throwIfAborted();
      try {
        this.#latest = await this.#update(lease);
        return;
      } catch (error) {
        if (attempt === maxUpdates) throw error;
        if (StatusError.is(error, "Conflict")) ({ lease } = await this.#ensureWithBackOff());
      }
    }
  }

  async #ensureWithBackOff(): Promise<Ensured> {
    const { clock, log } = this.#options;
    for (let delay = delays.first; ; delay = Math.min(2 * delay, delays.max)) {
      this.#stop.signal.throwIfAborted();
      try {
        return await this.#ensure();
      } catch (error) {
        log.warn({ err: error, delay }, "the lease of the node could not be found or created yet");
      }
      await sleep(clock, delay, this.#stop.signal);
    }
  }

  async #ensure(): Promise<Ensured> {
    const { client, nodeName } = this.#options;
    const leases = client.resource(Lease);
    try {
      return { lease: await leases.get({ namespace, name: nodeName }), created: false };
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
    const metadata = { namespace, name: nodeName, ...this.#owner() };
    return { lease: await leases.create({ metadata, spec: this.#spec() }), created: true };
  }

  #update(lease: Lease): Promise<Lease> {
    return this.#options.client.resource(Lease).update({
      ...lease,
      // Written each time: a node that is registered again has another UID.
      metadata: { ...lease.metadata, ...this.#owner() },
      spec: { ...lease.spec, ...this.#spec() },
    });
  }

  #owner() {
    const uid = this.#options.nodeUid();
    if (uid === undefined) return {};
    return { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: this.#options.nodeName, uid }] };
  }

  #spec() {
    const { clock, nodeName } = this.#options;
    return {
      holderIdentity: nodeName,
      leaseDurationSeconds: leaseSeconds,
      renewTime: microTimeText(clock.now()),
    };
  }
}

interface Ensured {
  readonly lease: Lease;
  readonly created: boolean;
}
