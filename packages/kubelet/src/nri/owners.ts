import { Field, type FieldOwners, OwningPlugins } from "@dray/rpc/nri/v1alpha1";

/** A field of a container that only one plugin may set, in NRI's names. */
export type FieldName = keyof typeof Field;

interface Owner {
  readonly plugin: string;
  /** The owner has removed the value: only it may set it again. */
  readonly cleared: boolean;
}

/** Two plugins set the same field of a container. */
export class NriConflict extends Error {
  override readonly name = "NriConflict";
}

/**
 * Owners of the fields of containers in one request. The texts of conflicts are upstream's.
 *
 * Upstream: containerd/nri, pkg/api/owners.go.
 */
export class Owners {
  /** By container ID, then by field and key. */
  readonly #containers = new Map<string, Map<string, Owner>>();

  /** Throws NriConflict if another plugin has set or removed it. `key` is "" for fields without keys. */
  claim(id: string, field: FieldName, key: string, plugin: string): void {
    const owners = this.#of(id);
    const owner = owners.get(`${field} ${key}`);
    if (owner !== undefined && !(owner.cleared && owner.plugin === plugin)) {
      const what = `${field} ${key}`.trim();
      throw new NriConflict(
        `plugins ${JSON.stringify(plugin)} and ${JSON.stringify(owner.plugin)} both tried to set ${what}`,
      );
    }
    owners.set(`${field} ${key}`, { plugin, cleared: false });
  }

  /** Records that the plugin removes a value of another one, and may set it itself. */
  clear(id: string, field: FieldName, key: string, plugin: string): void {
    this.#of(id).set(`${field} ${key}`, { plugin, cleared: true });
  }

  /** Adds the plugin to the owners of a cumulative field. */
  share(id: string, field: FieldName, plugin: string): void {
    const owners = this.#of(id);
    const before = owners.get(`${field} `)?.plugin;
    owners.set(`${field} `, {
      plugin: before === undefined ? plugin : `${before},${plugin}`,
      cleared: false,
    });
  }

  /** Undoes the claims since the copy was made. */
  restore(id: string, copy: ReadonlyMap<string, Owner>): void {
    this.#containers.set(id, new Map(copy));
  }

  copy(id: string): ReadonlyMap<string, Owner> {
    return new Map(this.#of(id));
  }

  /** All owners in the message to validators. */
  message(): OwningPlugins {
    const message = OwningPlugins.fromPartial({});
    for (const [id, owners] of this.#containers) {
      const fields: FieldOwners = { simple: {}, compound: {} };
      for (const [part, { plugin, cleared }] of owners) {
        const space = part.indexOf(" ");
        const field = Field[part.slice(0, space) as FieldName];
        const key = part.slice(space + 1);
        const name = cleared ? `-${plugin}` : plugin;
        if (key === "") fields.simple[field] = name;
        else {
          fields.compound[field] ??= { owners: {} };
          fields.compound[field].owners[key] = name;
        }
      }
      message.owners[id] = fields;
    }
    return message;
  }

  #of(id: string): Map<string, Owner> {
    const owners = this.#containers.get(id) ?? new Map<string, Owner>();
    this.#containers.set(id, owners);
    return owners;
  }
}
