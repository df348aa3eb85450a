import type { KubeObject, Provenance } from "@dray/api";
import type { ApiRequest, UserInfo } from "@dray/client";
import type { Kind } from "../encoding/codec.ts";
import { forbidden } from "../errors/status.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { Reservation } from "../kinds/strategy.ts";
import type { Pause } from "../request/large-work.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** A write on its way into the registry, as admission sees it. */
export interface AdmissionRequest {
  readonly operation: Operation;
  /**
   * Verb of the request: an `update` or a `patch` may create an object too. Absent for writes by the server
   * itself.
   */
  readonly verb?: string;
  readonly served: ServedResource;
  readonly subresource: string;
  readonly namespace: string;
  /** Name in messages: `Unknown` for a whole collection, `generateName` before a name is generated. */
  readonly name: string;
  /** Name of the object; "" for a whole collection, and before a name is generated. */
  readonly objectName: string;
  /** Object in its stored version; mutating plugins change it. Absent for DELETE. */
  readonly object?: KubeObject;
  /** Provenance of `object`; absent if it did not come over the wire. */
  readonly provenance?: Provenance;
  /** Frozen stored object; absent for CREATE. */
  readonly old?: KubeObject;
  /** Kind of `object` if the subresource has another kind than its parent (Eviction, Scale). */
  readonly kind?: Kind;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** The client's CreateOptions, UpdateOptions or DeleteOptions; absent for CONNECT. */
  readonly options?: object;
  /** Adds a text to the Warning headers of the response. */
  readonly warn: (text: string) => void;
  /**
   * Request that caused the write. Its signal, created on first use, aborts when the client disconnects or
   * the request times out.
   */
  readonly sent?: Pick<ApiRequest, "signal">;
  /** Awaited between long steps. */
  readonly pause?: Pause;
}

/** State shared by the two rounds of mutation of one request. */
export class Rounds {
  /** True in the second round. */
  second = false;
  /** Set by a plugin that has changed the object, to run the other plugins again. */
  wantsSecond = false;
  readonly #states = new Map<object, unknown>();

  /** Returns the state that a plugin keeps between the rounds; creates it on first use. */
  state<T>(plugin: object, make: () => T): T {
    const known = this.#states.get(plugin);
    if (known !== undefined) return known as T;
    const made = make();
    this.#states.set(plugin, made);
    return made;
  }
}

/** A check or change of every write. Rejects a write by throwing a StatusError. */
export interface AdmissionPlugin {
  mutate?(request: AdmissionRequest, rounds: Rounds): void | Promise<void>;
  validate?(request: AdmissionRequest): void | Promise<void>;
  /**
   * Reserves unique values of an object right before it is stored under its key. Is called for writes of the
   * server itself too. Undefined if there is nothing to reserve.
   */
  reserve?(served: ServedResource, key: string, object: KubeObject): Reservation | undefined;
  /** True if the plugin may call an external server, which may write related objects before it responds. */
  asksOutside?(): boolean;
}

/** The plugins in their order: all mutate before validation, all validate after it. */
export class Admission {
  readonly #plugins: readonly AdmissionPlugin[];

  readonly #reserving: readonly AdmissionPlugin[];

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
    this.#reserving = plugins.filter(({ reserve }) => reserve !== undefined);
  }

  /** Runs all plugins a second time if a webhook has changed the object (reinvocationPolicy of webhooks). */
  async mutate(request: AdmissionRequest): Promise<void> {
    const rounds = new Rounds();
    await this.#mutateOnce(request, rounds);
    if (!rounds.wantsSecond) return;
    rounds.second = true;
    await this.#mutateOnce(request, rounds);
  }

  async #mutateOnce(request: AdmissionRequest, rounds: Rounds): Promise<void> {
    for (const plugin of this.#plugins) {
      const pending = plugin.mutate?.(request, rounds);
      // Most plugins are synchronous, and awaiting nothing is not free.
      if (pending !== undefined) await pending;
    }
  }

  /** Reports whether a request may wait for a server that writes in the meantime. */
  asksOutside(): boolean {
    return this.#plugins.some((plugin) => plugin.asksOutside?.() ?? false);
  }

  async validate(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#plugins) {
      const pending = plugin.validate?.(request);
      if (pending !== undefined) await pending;
    }
  }

  /** Reports whether a plugin reserves values. */
  get reserves(): boolean {
    return this.#reserving.length > 0;
  }

  /** Reserves the unique values of an object that is about to be stored. Throws StatusError. */
  *reserve(served: ServedResource, key: string, object: KubeObject): Generator<Reservation> {
    for (const plugin of this.#reserving) {
      const reservation = plugin.reserve?.(served, key, object);
      if (reservation !== undefined) yield reservation;
    }
  }
}

/** Returns the name in messages of an object that may have no name yet. */
export function shownName(object: Pick<KubeObject, "metadata"> | undefined): string {
  return object?.metadata?.name || object?.metadata?.generateName || "Unknown";
}

/** Returns a 403 with the reason. */
export function refused({ served, name }: AdmissionRequest, why: string): ReturnType<typeof forbidden> {
  return forbidden(served, name, why);
}
