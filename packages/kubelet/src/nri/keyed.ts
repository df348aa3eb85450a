import type { FieldName, Owners } from "./owners.ts";

/** Changes of a plugin by key: a value, or undefined to remove it. */
export type Changes<T> = readonly (readonly [key: string, value: T | undefined])[];

/** A key that begins with `-` marks a removal. Upstream: pkg/api/helpers.go, IsMarkedForRemoval. */
export function isRemoval(key: string): boolean {
  return key.startsWith("-");
}

/** Marks a key for removal. */
const removal = (key: string): string => `-${key}`;

/** Changes of a list whose items are keyed by `name`. */
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
 * Keyed fields of a container: the values for the next plugin, and the changes for the runtime. A plugin may
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
    // Removals come first, whatever their position.
    for (const [key, value] of changes) {
      if (value !== undefined) continue;
      owners.clear(id, this.#field, key, plugin);
      this.#now.delete(key);
      this.#changed.set(key, undefined);
    }
    for (const [key, value] of changes) {
      if (value === undefined) continue;
      owners.claim(id, this.#field, key, plugin);
      // Appended after existing keys.
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

  /** Changes for the runtime; `removed` returns the item that marks a removal. */
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
