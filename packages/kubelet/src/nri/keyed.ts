import type { FieldName, Owners } from "./owners.ts";

/** What a plugin wants of things with keys: a value, or undefined to remove it. */
export type Changes<T> = readonly (readonly [key: string, value: T | undefined])[];

/** A key that begins with `-` stands for the removal of what follows. Upstream: pkg/api/helpers.go, IsMarkedForRemoval. */
export function isRemoval(key: string): boolean {
  return key.startsWith("-");
}

/** The removal of a key. */
export const removal = (key: string): string => `-${key}`;

/** Changes of a list whose items have their key at `name`. */
export function listChanges<K extends string, T extends Readonly<Record<K, string>>>(
  name: K,
  items: readonly T[],
): Changes<T> {
  return items.map((item) => (isRemoval(item[name]) ? [item[name].slice(1), undefined] : [item[name], item]));
}

/** Changes of a map. */
export function mapChanges<T>(items: Readonly<Record<string, T>>): Changes<T> {
  return Object.entries(items).map(([key, value]) =>
    isRemoval(key) ? [key.slice(1), undefined] : [key, value],
  );
}

/**
 * Things of a container that have keys: as the next plugin sees them, and what has changed for the runtime. A plugin may
 * remove what another has set and set it itself; to set what another has set is a conflict.
 */
export class Keyed<T> {
  readonly #field: FieldName;
  readonly #now: Map<string, T>;
  readonly #changed = new Map<string, T | undefined>();

  constructor(field: FieldName, now: Iterable<readonly [string, T]>) {
    this.#field = field;
    this.#now = new Map(now);
  }

  /** Throws NriConflict. */
  apply(changes: Changes<T>, owners: Owners, id: string, plugin: string): void {
    // Removals come first, wherever they stand.
    for (const [key, value] of changes) {
      if (value !== undefined) continue;
      owners.clear(id, this.#field, key, plugin);
      this.#now.delete(key);
      this.#changed.set(key, undefined);
    }
    for (const [key, value] of changes) {
      if (value === undefined) continue;
      owners.claim(id, this.#field, key, plugin);
      // Behind what is there already.
      this.#now.delete(key);
      this.#now.set(key, value);
      this.#changed.set(key, value);
    }
  }

  get values(): T[] {
    return [...this.#now.values()];
  }

  get entries(): Record<string, T> {
    return Object.fromEntries(this.#now);
  }

  /** What the runtime has to do; `removed` makes what stands for the removal of a key. */
  changes(removed: (marked: string) => T): T[] {
    return [...this.#changed].map(([key, value]) => value ?? removed(removal(key)));
  }

  /** As `changes`, by key. */
  changedEntries(removed: T): Record<string, T> {
    return Object.fromEntries(
      [...this.#changed].map(([key, value]) =>
        value === undefined ? [removal(key), removed] : [key, value],
      ),
    );
  }
}
