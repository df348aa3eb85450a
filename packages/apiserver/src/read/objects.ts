import { type Features, type KubeObject, Provenance, timeText } from "@dray/api";
import type { Clock } from "@dray/client";
import type { DecodeOptions } from "../encoding/codec.ts";
import { notFound } from "../errors/status.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { FieldValidation } from "../request/options.ts";
import type { ResourceCache, Stored } from "../storage/cache.ts";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";

/** Reads stored objects by the resource that serves them. */
export class ObjectReader {
  readonly storage: Storage;
  readonly features: Features;
  readonly #clock: Clock;
  /** Cached text of the last requested second: a request needs it several times. */
  #lastTime = { second: Number.NaN, text: "" };

  constructor(storage: Storage, features: Features, clock: Clock) {
    this.storage = storage;
    this.features = features;
    this.#clock = clock;
  }

  cache(served: ServedResource): ResourceCache {
    return this.storage.cache(served.stored.resource);
  }

  key(served: ServedResource, namespace: string, name: string): string {
    return objectKey(served.stored.resource, served.namespaced ? namespace : "", name);
  }

  /** Returns the stored object, in its stored version. */
  find(served: ServedResource, namespace: string, name: string): Stored | undefined {
    return this.cache(served).get(this.key(served, namespace, name));
  }

  /** Returns the stored object, in its stored version. Throws 404. */
  need(served: ServedResource, namespace: string, name: string): Stored {
    const stored = this.find(served, namespace, name);
    if (stored === undefined) throw notFound(served, name);
    return stored;
  }

  /** Returns all stored objects, in their stored version. */
  list(served: ServedResource): KubeObject[] {
    const cache = this.cache(served);
    return [...cache.range(cache.prefix)].map(({ object }) => object);
  }

  /** Milliseconds since the epoch. */
  time(): number {
    return this.#clock.now();
  }

  /** Returns the current time, optionally plus some seconds: RFC 3339, whole seconds. */
  now(seconds = 0): string {
    const second = Math.floor(this.#clock.now() / 1000) + seconds;
    if (second !== this.#lastTime.second) {
      this.#lastTime = { second, text: timeText(second * 1000) };
    }
    return this.#lastTime.text;
  }

  /** Returns an empty provenance, for the objects of one request. */
  newProvenance(): Provenance {
    return new Provenance(this.storage.rawTexts);
  }

  /** Returns the options for decoding bodies and patches at the current time. */
  decoding(validation: FieldValidation): DecodeOptions {
    return { validation, now: this.now(), release: this.features.version };
  }
}
