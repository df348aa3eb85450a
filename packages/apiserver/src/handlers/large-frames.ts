import type { KubeObject } from "@dray/api";

/** Minimum length in bytes: smaller frames are not worth an entry. */
const minLength = 16 * 1024;

/**
 * Encoded large objects that wait for watchers, so that all watches that begin with an object share its
 * bytes. They are kept only until all watchers have taken them.
 */
export class LargeFrames {
  readonly #frames = new WeakMap<KubeObject, Map<string, WeakRef<Uint8Array>>>();

  /** Returns the bytes of `object` in this encoding; calls `make` if no watcher holds them. */
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
