/** Amounts of capacities by name, in billionths. */
export type Amounts = ReadonlyMap<string, bigint>;

/** State of a pool, shared by its devices. */
export interface PoolState {
  /** Incremented when a device of the pool, or a share of one, is allocated or deallocated. */
  version: number;
}

/** A claim that has a device or a share of it. */
export interface Holder {
  readonly name: string;
  readonly consumed: Amounts | undefined;
  /** Number of allocations and reservations of the claim with the device. */
  references: number;
}

export const noNodes: readonly string[] = [];

/** The claims that have a device. */
export class DeviceState {
  readonly id: string;
  readonly pool: PoolState;
  /** Claims that have the whole device, by owner. */
  owners: Map<string, Holder> | undefined;
  /** Claims that have shares of the device, by owner and share (KEP-5075). */
  shares: Map<string, Holder> | undefined;
  /** Capacity that all shares consume together. */
  consumed: Map<string, bigint> | undefined;
  /** For each slice that publishes the device, the node that it names; "" if it does not name one. */
  nodes: readonly string[] = noNodes;

  constructor(id: string, pool: PoolState) {
    this.id = id;
    this.pool = pool;
  }

  /** A claim has the whole device. */
  get isOwned(): boolean {
    return this.owners !== undefined;
  }

  /** A claim has a share of the device. */
  get isShared(): boolean {
    return this.shares !== undefined;
  }

  /** A claim has the whole device or a share of it. */
  get isAllocated(): boolean {
    return this.owners !== undefined || this.shares !== undefined;
  }

  /** Name of a claim that has the device or a share of it; undefined if none does. */
  get holder(): string | undefined {
    return (this.owners ?? this.shares)?.values().next().value?.name;
  }
}
