interface Stored {
  readonly metadata: { readonly namespace?: string; readonly name: string; readonly resourceVersion: string };
}

/**
 * Objects as the scheduler is about to write them: they stand for the stored ones until these change.
 * Upstream: plugins/volumebinding/passive_assume_cache.go
 */
export class AssumedObjects<T extends Stored> {
  /** By namespace and name, with the version that it changes. */
  readonly #assumed = new Map<string, { readonly version: string; readonly object: T }>();

  assume(stored: T, changed: T): void {
    this.#assumed.set(keyOf(stored), { version: stored.metadata.resourceVersion, object: changed });
  }

  restore(object: T): void {
    this.#assumed.delete(keyOf(object));
  }

  /** The object as it will be. */
  of(stored: T): T {
    if (this.#assumed.size === 0) return stored;
    const key = keyOf(stored);
    const assumed = this.#assumed.get(key);
    if (assumed === undefined) return stored;
    if (assumed.version === stored.metadata.resourceVersion) return assumed.object;
    this.#assumed.delete(key);
    return stored;
  }
}

function keyOf({ metadata: { namespace = "", name } }: Stored): string {
  return `${namespace}/${name}`;
}
