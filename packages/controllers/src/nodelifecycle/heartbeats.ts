import type { Lease } from "@dray/api/coordination/v1";
import type { Node } from "@dray/api/core/v1";
import type { Clock, Informer } from "@dray/client";
import { readyCondition } from "./conditions.ts";

const leaseNamespace = "kube-node-lease";

/** The last sign of life of a node. */
interface Heartbeat {
  /** Milliseconds since the epoch by this machine's clock: that of the node may be wrong. */
  readonly at: number;
  readonly lease: string | undefined;
  readonly beat: string | undefined;
}

/** When nodes were last heard of: they renew their Lease or post their status. */
export class NodeHeartbeats {
  readonly #clock: Clock;
  readonly #leases: Informer<Lease>;
  readonly #last = new Map<string, Heartbeat>();

  constructor(clock: Clock, leases: Informer<Lease>) {
    this.#clock = clock;
    this.#leases = leases;
  }

  /** Milliseconds since the last sign of life. */
  silence(node: Node): number {
    return this.#clock.now() - this.hear(node).at;
  }

  /** Notes a sign of life, if there is a new one. */
  hear(node: Node): Heartbeat {
    const { name } = node.metadata;
    const lease = this.#leases.get({ namespace: leaseNamespace, name })?.spec.renewTime;
    const ready = readyCondition(node);
    // A condition that this controller wrote is not a heartbeat.
    const beat = ready?.status === "Unknown" ? undefined : ready?.lastHeartbeatTime;
    const last = this.#last.get(name);
    const alive =
      last === undefined ||
      (lease !== undefined && lease !== last.lease) ||
      (beat !== undefined && beat !== last.beat);
    if (!alive) return last;
    const now = { at: this.#clock.now(), lease, beat };
    this.#last.set(name, now);
    return now;
  }

  /** Gives all nodes another chance: as if they had just been heard of. */
  restart(): void {
    const at = this.#clock.now();
    for (const [name, last] of this.#last) this.#last.set(name, { ...last, at });
  }

  forget({ metadata }: Node): void {
    this.#last.delete(metadata.name);
  }
}

/** The name of the node that a Lease stands for. */
export function nodeOfLease({ metadata }: Lease): string | undefined {
  return metadata.namespace === leaseNamespace ? metadata.name : undefined;
}
