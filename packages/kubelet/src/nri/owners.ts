import { Field, type FieldOwners, OwningPlugins } from "@dray/rpc/nri/v1alpha1";

/** A part of a container that one plugin alone may set, in NRI's words. */
export type FieldName = keyof typeof Field;

interface Owner {
  readonly plugin: string;
  /** It has removed what was there: nobody but itself may set it again. */
  readonly cleared: boolean;
}

/** Two plugins that want the same part of a container. */
export class NriConflict extends Error {
  override readonly name = "NriConflict";
}

/**
 * Which plugin has set which part of which container in one request. The texts of conflicts are upstream's.
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

  /** The plugin removes what another has set, and may set it itself. */
  clear(id: string, field: FieldName, key: string, plugin: string): void {
    this.#of(id).set(`${field} ${key}`, { plugin, cleared: true });
  }

  /** Adds the plugin to those that have set something that adds up. */
  share(id: string, field: FieldName, plugin: string): void {
    const owners = this.#of(id);
    const before = owners.get(`${field} `)?.plugin;
    owners.set(`${field} `, {
      plugin: before === undefined ? plugin : `${before},${plugin}`,
      cleared: false,
    });
  }

  /** Forgets what has been claimed since the copy was made. */
  restore(id: string, copy: ReadonlyMap<string, Owner>): void {
    this.#containers.set(id, new Map(copy));
  }

  copy(id: string): ReadonlyMap<string, Owner> {
    return new Map(this.#of(id));
  }

  /** All of them as validators get them. */
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
