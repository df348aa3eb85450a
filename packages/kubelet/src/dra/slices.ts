import { ResourceSlice } from "@dray/api/resource/v1";
import { type Client, type Clock, type Log, sleep } from "@dray/client";
import type { DraPlugins } from "./plugins.ts";

/** Milliseconds that a driver may be away before its slices are deleted. Upstream: defaultWipingDelay. */
const defaultWipeDelay = 30_000;
const minRetryDelay = 1000;
const maxRetryDelay = 300_000;

export interface SliceWiperOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly plugins: DraPlugins;
  /**
   * Milliseconds that a driver may be without a connected instance before its slices are deleted; 30 s by
   * default.
   */
  readonly wipeDelay?: number;
}

/**
 * Deletes ResourceSlices of this node whose driver is away: all when the agent starts, so that drivers
 * publish anew, and those of a driver that has had no connected instance for a while.
 *
 * Upstream: pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go, sync and wipeResourceSlices.
 */
export class SliceWiper {
  readonly #options: SliceWiperOptions;
  readonly #pending = new Map<string, AbortController>();
  readonly #stop = new AbortController();

  constructor(options: SliceWiperOptions) {
    this.#options = options;
    options.plugins.handle({
      connected: (driver) => {
        this.#pending.get(driver)?.abort();
        this.#pending.delete(driver);
      },
      gone: (driver) => void this.#later(driver),
    });
  }

  /** Deletes the slices of every driver. Resolves after the first attempt, whether or not it succeeded. */
  async start(): Promise<void> {
    const { nodeName } = this.#options;
    if (!(await this.#wipe(`spec.nodeName=${nodeName}`)))
      void this.#retry(`spec.nodeName=${nodeName}`, this.#stop.signal);
  }

  close(): void {
    this.#stop.abort();
    for (const pending of this.#pending.values()) pending.abort();
  }

  async #later(driver: string): Promise<void> {
    const { clock, log, nodeName, wipeDelay = defaultWipeDelay } = this.#options;
    // The delay counts from when the driver was lost, whatever its instances do since.
    if (this.#stop.signal.aborted || this.#pending.has(driver)) return;
    const cancelled = new AbortController();
    this.#pending.set(driver, cancelled);
    await sleep(clock, wipeDelay, cancelled.signal);
    if (cancelled.signal.aborted) return;
    log.info({ driver }, "the driver has not come back: its slices are removed");
    await this.#retry(`spec.nodeName=${nodeName},spec.driver=${driver}`, cancelled.signal);
    if (this.#pending.get(driver) === cancelled) this.#pending.delete(driver);
  }

  async #retry(selector: string, signal: AbortSignal): Promise<void> {
    for (let delay = minRetryDelay; !signal.aborted; delay = Math.min(delay * 2, maxRetryDelay)) {
      if (await this.#wipe(selector)) return;
      await sleep(this.#options.clock, delay, signal);
    }
  }

  async #wipe(fieldSelector: string): Promise<boolean> {
    try {
      await this.#options.client.resource(ResourceSlice).deleteCollection({ fieldSelector });
      return true;
    } catch (error) {
      this.#options.log.warn({ fieldSelector, err: error }, "ResourceSlices could not be removed");
      return false;
    }
  }
}
