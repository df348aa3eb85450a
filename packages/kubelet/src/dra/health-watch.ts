import { type Features, minorOf } from "@dray/api";
import { type Clock, type Log, sleep } from "@dray/client";
import { RpcError } from "@dray/rpc";
import { shortened } from "../base/text.ts";
import type { HealthCache } from "./health.ts";
import { type DraPlugin, type DraPlugins, type HealthService, healthServices } from "./plugins.ts";

/** Milliseconds before a stream that has ended is opened again. */
const reconnectInterval = 5000;
/**
 * Minimum interval between two messages of a driver that are read, in milliseconds; others wait in the
 * stream.
 */
const messageInterval = 100;

export interface HealthWatchOptions {
  readonly plugins: DraPlugins;
  readonly cache: HealthCache;
  readonly features: Features;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Follows the health stream of every instance of a driver, as long as it is registered (KEP-4680). The end of
 * a stream clears its reports; it is opened again after 5 s. A driver that responds Unimplemented is not
 * asked again until it registers. Disabled without the gate ResourceHealthStatus.
 *
 * Upstream: pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go, add.
 */
export class HealthWatch {
  readonly #options: HealthWatchOptions;
  /** In the order of registration. */
  readonly #streams = new Map<DraPlugin, AbortController>();
  /** Instances that have reported over their current stream. */
  readonly #reporting = new Set<DraPlugin>();

  constructor(options: HealthWatchOptions) {
    this.#options = options;
    if (!options.features.enabled("ResourceHealthStatus")) return;
    options.plugins.handle({
      added: (plugin) => {
        const service = healthService(plugin, options.features);
        if (service === undefined) return;
        const stop = new AbortController();
        this.#streams.set(plugin, stop);
        void this.#follow(plugin, service, stop.signal);
      },
      removed: (plugin) => this.#end(plugin),
    });
  }

  close(): void {
    for (const plugin of [...this.#streams.keys()]) this.#end(plugin);
  }

  #end(plugin: DraPlugin): void {
    this.#streams.get(plugin)?.abort();
    this.#streams.delete(plugin);
  }

  /** During an update two instances report the same devices: the newer one counts. */
  #isNewest(plugin: DraPlugin): boolean {
    return (
      [...this.#streams.keys()].findLast(
        (one) => one.driver === plugin.driver && this.#reporting.has(one),
      ) === plugin
    );
  }

  async #follow(plugin: DraPlugin, service: HealthService, signal: AbortSignal): Promise<void> {
    const { cache, clock, log } = this.#options;
    const { driver, endpoint } = plugin;
    let logged = "";
    while (!signal.aborted) {
      try {
        for await (const { devices } of plugin.watchHealth(service, { signal })) {
          if (signal.aborted) break;
          this.#reporting.add(plugin);
          if (this.#isNewest(plugin)) cache.report(driver, plugin, devices);
          logged = "";
          await sleep(clock, messageInterval, signal);
        }
      } catch (error) {
        if (RpcError.is(error, "Unimplemented")) {
          log.debug({ driver, endpoint, service }, "the driver does not report the health of its devices");
          return;
        }
        const message = shortened((error as Error).message);
        if (!signal.aborted)
          log[message === logged ? "debug" : "info"](
            { driver, endpoint, service, reason: message },
            "the stream of the health of a driver's devices has ended",
          );
        logged = message;
      } finally {
        this.#reporting.delete(plugin);
        cache.clear(driver, plugin);
      }
      await sleep(clock, reconnectInterval, signal);
    }
  }
}

/**
 * The newest version that both sides support. Before 1.37 there is v1alpha1 only, which kubelets open whether
 * or not the driver lists it.
 */
function healthService({ supported }: DraPlugin, { version }: Features): HealthService | undefined {
  if (minorOf(version) < 37) return "v1alpha1.DRAResourceHealth";
  return healthServices.find((service) => supported.includes(service));
}
