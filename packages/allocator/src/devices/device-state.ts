/** Amounts of capacities by their keys, in billionths. */
export type Amounts = ReadonlyMap<string, bigint>;

/** Counts the changes in what is taken of a pool. */
export interface PoolUsage {
  version: number;
}

/** Whoever has a device, or a share of it: a claim, as often as its allocation and its reservations name it. */
export interface Holder {
  readonly name: string;
  readonly consumed: Amounts | undefined;
  times: number;
}

export const noNodes: readonly string[] = [];

/** Who has one device. */
export class DeviceState {
  readonly id: string;
  readonly pool: PoolUsage;
  /** Claims that have it for themselves, by owner. */
  owners: Map<string, Holder> | undefined;
  /** Claims that have a share of it, by owner and share. */
  shares: Map<string, Holder> | undefined;
  /** What all shares consume together. */
  consumed: Map<string, bigint> | undefined;
  /** For each published device that is this one the node that its slice names; "" for none. */
  nodes: readonly string[] = noNodes;

  constructor(id: string, pool: PoolUsage) {
    this.id = id;
    this.pool = pool;
  }

  /** A claim has it for itself. */
  get owned(): boolean {
    return this.owners !== undefined;
  }

  /** A claim has a share of it. */
  get shared(): boolean {
    return this.shares !== undefined;
  }

  /** A claim has it, or a share of it. */
  get taken(): boolean {
    return this.owners !== undefined || this.shares !== undefined;
  }

  /** The name of a claim that has it; undefined if it is free. */
  get holder(): string | undefined {
    return (this.owners ?? this.shares)?.values().next().value?.name;
  }
}
