import type { KubeObject } from "@dray/api";
import type { ApiRequest, UserInfo } from "@dray/client";
import type { Kind } from "../encoding/codec.ts";
import { forbidden } from "../errors/status.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { checkPluginNames } from "./plugin-names.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** A write on its way into the registry, as admission sees it. */
export interface AdmissionRequest {
  readonly operation: Operation;
  /**
   * Of the request: an object may be created by an `update` and a `patch` too. Absent for what the server
   * does itself.
   */
  readonly verb?: string;
  readonly served: ServedResource;
  readonly subresource: string;
  readonly namespace: string;
  /** As messages have it: `Unknown` for a whole collection, `generateName` before a name is made of it. */
  readonly name: string;
  /** What the object is called; "" where a name is yet to be generated, and for a whole collection. */
  readonly objectName: string;
  /** In its stored version; plugins that mutate change it. Absent for DELETE. */
  readonly object?: KubeObject;
  /** Frozen; absent for CREATE. */
  readonly old?: KubeObject;
  /**
   * Of what kind `object` is where a subresource speaks another than that of its parent (Eviction, Scale).
   */
  readonly kind?: Kind;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** CreateOptions, UpdateOptions or DeleteOptions as the client gave them; absent for CONNECT. */
  readonly options?: object;
  /** Adds a text to the Warning headers of the answer. */
  readonly warn: (text: string) => void;
  /**
   * The request behind it. Its signal ends when the client has gone or the time is over, and is made when it
   * is asked for.
   */
  readonly sent?: Pick<ApiRequest, "signal">;
}

/** What the two rounds of mutation of one request share. */
export class Rounds {
  /** Whether this is the second round. */
  second = false;
  /** Set by a plugin that has changed the object: the others may look at it once more. */
  wantsSecond = false;
  readonly #states = new Map<object, unknown>();

  /** What a plugin has noted for the second round. */
  state<T>(plugin: object, make: () => T): T {
    const known = this.#states.get(plugin);
    if (known !== undefined) return known as T;
    const made = make();
    this.#states.set(plugin, made);
    return made;
  }
}

/** One check or change that every write passes. Refuses by throwing a StatusError. */
export interface AdmissionPlugin {
  /** As `--disable-admission-plugins` names it. */
  readonly name: string;
  mutate?(request: AdmissionRequest, rounds: Rounds): void | Promise<void>;
  validate?(request: AdmissionRequest): void | Promise<void>;
  /** Whether it may ask somebody outside, who may write what the request is about before answering. */
  asksOutside?(): boolean;
}

/** The plugins in their order: all mutate before validation, all validate after it. */
export class Admission {
  readonly #plugins: readonly AdmissionPlugin[];

  constructor(plugins: readonly AdmissionPlugin[], disabled: readonly string[] = []) {
    checkPluginNames(disabled);
    this.#plugins = plugins.filter((plugin) => !disabled.includes(plugin.name));
  }

  /**
   * Where a webhook has changed the object all plugins see it a second time (reinvocationPolicy of webhooks).
   */
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
      // Few plugins wait for anything, and to await nothing is not free.
      if (pending !== undefined) await pending;
    }
  }

  /** Whether a request may wait for somebody who writes in the meantime. */
  asksOutside(): boolean {
    return this.#plugins.some((plugin) => plugin.asksOutside?.() ?? false);
  }

  async validate(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#plugins) {
      const pending = plugin.validate?.(request);
      if (pending !== undefined) await pending;
    }
  }
}

/** How messages call an object that may have no name yet. */
export function shownName(object: Pick<KubeObject, "metadata"> | undefined): string {
  return object?.metadata?.name || object?.metadata?.generateName || "Unknown";
}

/** 403: the request is refused, and why. */
export function refused({ served, name }: AdmissionRequest, why: string): ReturnType<typeof forbidden> {
  return forbidden(served, name, why);
}
