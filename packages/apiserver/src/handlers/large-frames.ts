import type { KubeObject } from "@dray/api";

/** Smaller ones are not worth their entry, in bytes. */
const minLength = 16 * 1024;

/**
 * The bytes of large objects that are on their way to watchers, so that all those that begin with an object share them.
 * They are kept only as long as a watcher has yet to take them.
 */
export class LargeFrames {
  readonly #frames = new WeakMap<KubeObject, Map<string, WeakRef<Uint8Array>>>();

  /** The bytes of `object` in this form, which `make` makes if nobody has them. */
  bytes(object: KubeObject, form: string, make: () => Uint8Array): Uint8Array {
    const known = this.#frames.get(object);
    const shared = known?.get(form)?.deref();
    if (shared !== undefined) return shared;
    const made = make();
    if (made.length < minLength) return made;
    const forms = known ?? new Map();
    forms.set(form, new WeakRef(made));
    this.#frames.set(object, forms);
    return made;
  }
}
