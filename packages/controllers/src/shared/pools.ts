import type { Device, DeviceTaint, ResourceSlice } from "@dray/api/resource/v1";

interface Pool {
  readonly slices: Map<string, ResourceSlice>;
  /** NoExecute taints by device, of the newest generation; absent until they are asked for. */
  evicting?: ReadonlyMap<string, readonly DeviceTaint[]>;
}

const none: ReadonlyMap<string, readonly DeviceTaint[]> = new Map();

/** `driver/pool`: a driver's name has no slash. */
export function poolKey(driver: string, pool: string): string {
  return `${driver}/${pool}`;
}

/** The slices of all pools. Only the newest generation of a pool counts. */
export class DevicePools {
  readonly #pools = new Map<string, Pool>();

  /** Takes or replaces a slice; true if that changes which devices of its pool have NoExecute taints. */
  set(slice: ResourceSlice): boolean {
    return this.#change(slice, (slices) => slices.set(slice.metadata.name, slice));
  }

  /** As `set`. */
  delete(slice: ResourceSlice): boolean {
    return this.#change(slice, (slices) => slices.delete(slice.metadata.name));
  }

  /** The NoExecute taints that a driver has published for a device. */
  evictingTaints(driver: string, pool: string, device: string): readonly DeviceTaint[] {
    return this.#evicting(poolKey(driver, pool)).get(device) ?? [];
  }

  /** All devices that are published now. */
  *devices(): Generator<{ driver: string; pool: string; device: Device }> {
    for (const { slices } of this.#pools.values())
      for (const { spec } of newest(slices))
        for (const device of spec.devices ?? []) yield { driver: spec.driver, pool: spec.pool.name, device };
  }

  #change({ spec }: ResourceSlice, change: (slices: Map<string, ResourceSlice>) => unknown): boolean {
    const key = poolKey(spec.driver, spec.pool.name);
    const before = this.#evicting(key);
    const pool: Pool = this.#pools.get(key) ?? { slices: new Map() };
    change(pool.slices);
    delete pool.evicting;
    if (pool.slices.size === 0) this.#pools.delete(key);
    else this.#pools.set(key, pool);
    return text(before) !== text(this.#evicting(key));
  }

  #evicting(key: string): ReadonlyMap<string, readonly DeviceTaint[]> {
    const pool = this.#pools.get(key);
    if (pool === undefined) return none;
    pool.evicting ??= evictingOf(newest(pool.slices));
    return pool.evicting;
  }
}

/** The slices of the newest generation among those of a pool, by name. */
export function newest(slices: ReadonlyMap<string, ResourceSlice>): ResourceSlice[] {
  const generation = ({ spec }: ResourceSlice): bigint => BigInt(spec.pool.generation ?? 0);
  let best: bigint | undefined;
  for (const slice of slices.values())
    if (best === undefined || generation(slice) > best) best = generation(slice);
  return [...slices.values()]
    .filter((slice) => generation(slice) === best)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

function evictingOf(slices: readonly ResourceSlice[]): ReadonlyMap<string, readonly DeviceTaint[]> {
  const found = new Map<string, readonly DeviceTaint[]>();
  for (const { spec } of slices)
    for (const { name, taints = [] } of spec.devices ?? []) {
      const evicting = taints.filter(({ effect }) => effect === "NoExecute");
      if (evicting.length > 0 && !found.has(name)) found.set(name, evicting);
    }
  return found;
}

function text(taints: ReadonlyMap<string, readonly DeviceTaint[]>): string {
  return JSON.stringify([...taints].sort(([a], [b]) => (a < b ? -1 : 1)));
}
