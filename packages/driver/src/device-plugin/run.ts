import { type FSWatcher, lstatSync, watch } from "node:fs";
import { join } from "node:path";
import { type Clock, type Log, sleep } from "@dray/client";
import { makeFolder } from "@dray/files";
import { checkSocketPath, type RpcServer, unixChannel, unixServer } from "@dray/rpc";
import { RegistrationDefinition } from "@dray/rpc/deviceplugin/v1beta1";
import { checkDevices, checkName } from "./check.ts";
import type { DevicePlugin } from "./plugin.ts";
import { DeviceList, devicePluginService } from "./service.ts";

export interface DevicePluginOptions {
  /** The kubelet's folder of device plugins: `/var/lib/kubelet/device-plugins`. */
  readonly directory: string;
  /**
   * The plugin's socket in that folder; by default the name of the resource, as in `example.com_lamp.sock`.
   */
  readonly socketName?: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Milliseconds between tries to register: doubled from the first to the last. */
const registerDelays = { first: 1000, last: 30_000 };
/** The kubelet dials back for 10 seconds, and asks for options. */
const registerTimeout = 30_000;
/** Besides notifications of the file system, which do not outlive a folder that is made anew. */
const lookInterval = 10_000;

/**
 * Runs a device plugin on a node until the signal aborts: serves its socket, registers with the kubelet, and
 * does both again when the kubelet was restarted, when it refused, or when it no longer follows the devices.
 * At the end the socket is taken away, and pods that run keep their devices.
 *
 * Rejects if the plugin cannot serve, if its `discover` fails, or if another process takes its socket over.
 */
export async function runDevicePlugin(plugin: DevicePlugin, options: DevicePluginOptions): Promise<void> {
  checkName(plugin.name);
  const { socketName = `${plugin.name.replace("/", "_")}.sock` } = options;
  if (!/^[^/\0]+\.sock$/.test(socketName) || socketName === "kubelet.sock")
    throw new TypeError(
      `socketName: ${JSON.stringify(socketName)} must be the name of a file that ends with .sock, other than kubelet.sock`,
    );
  checkSocketPath(join(options.directory, socketName));
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const devices = new DeviceList();
  const presence = new Presence(plugin, devices, socketName, { ...options, signal });
  const report = (found: unknown): void => {
    devices.replace(checkDevices(found));
    presence.look();
  };
  const fail = (error: unknown): void => {
    if (!signal.aborted) failed.abort(error);
  };
  await Promise.all([discover(plugin, report, options.log, signal).catch(fail), presence.run().catch(fail)]);
  if (failed.signal.aborted) throw failed.signal.reason;
}

async function discover(
  plugin: DevicePlugin,
  report: (found: unknown) => void,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const discovering = async (): Promise<void> => {
    for await (const found of plugin.discover(signal)) {
      if (signal.aborted) return;
      try {
        report(found);
      } catch (error) {
        // The last report stays; another call would have the same result.
        log.error(
          { resource: plugin.name, error: (error as Error).message },
          "The devices cannot be reported",
        );
      }
    }
    await aborted(signal);
  };
  // A plugin need not heed the signal while it waits for news.
  await Promise.race([discovering(), aborted(signal)]);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** The plugin as the kubelet sees it: a socket, and a registration. */
class Presence {
  readonly #plugin: DevicePlugin;
  readonly #devices: DeviceList;
  readonly #options: DevicePluginOptions;
  readonly #socketName: string;
  readonly #socket: string;
  readonly #kubelet: string;
  #server: RpcServer | undefined;
  /** Of our socket, while it is served. */
  #served: string | undefined;
  /** The kubelet's socket with which we are registered; undefined where we are not. */
  #registered: string | undefined;
  /** The kubelet's socket with which that was last tried. */
  #tried: string | undefined;
  #streams = 0;
  #openedAt = 0;
  #delay = registerDelays.first;
  /** When to try next. */
  #notBefore = 0;
  #watcher: FSWatcher | undefined;
  /** Identity of the watched folder: another one at the same path needs its own watch. */
  #watched: string | undefined;
  #looked = true;
  #wake = (): void => {};

  constructor(plugin: DevicePlugin, devices: DeviceList, socketName: string, options: DevicePluginOptions) {
    this.#plugin = plugin;
    this.#devices = devices;
    this.#options = options;
    this.#socketName = socketName;
    this.#socket = join(options.directory, socketName);
    this.#kubelet = join(options.directory, "kubelet.sock");
  }

  /** Something may have changed. */
  look(): void {
    this.#looked = false;
    this.#wake();
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    try {
      while (!signal.aborted) {
        this.#looked = true;
        await this.#serve();
        await this.#register();
        await this.#pause();
      }
    } finally {
      this.#watcher?.close();
      await this.#server?.close();
    }
  }

  /** Until there is news, or it is time to try again. */
  async #pause(): Promise<void> {
    const { clock, signal } = this.#options;
    const wait = Math.min(Math.max(this.#notBefore - clock.now(), 0) || lookInterval, lookInterval);
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (!this.#looked) return;
    await sleep(clock, wait, AbortSignal.any([signal, woken.signal]));
  }

  /** Serves the socket, again where it was deleted. Throws if another process has taken it over. */
  async #serve(): Promise<void> {
    const { directory, clock, log } = this.#options;
    await makeFolder(directory, 0o750);
    this.#watch();
    if (this.#server !== undefined) {
      if (this.#isServed()) return;
      // Another process that takes the path over removes it first: check again.
      await sleep(clock, 100);
      if (this.#isServed()) return;
      const now = identity(this.#socket);
      if (now !== undefined) throw new Error(`another process has taken over ${this.#socket}`);
      log.info({ socket: this.#socket }, "Serving the socket anew");
      // Closing removes the path, so it must come first.
      await this.#server.close(0);
      this.#registered = undefined;
    }
    const serving = new AbortController();
    const { signal } = this.#options;
    const server = await unixServer(this.#socket, [
      devicePluginService({
        plugin: this.#plugin,
        devices: this.#devices,
        clock,
        log,
        signal: AbortSignal.any([signal, serving.signal]),
        opened: () => this.#opened(),
        closed: () => this.#closed(),
      }),
    ]);
    this.#server = {
      address: server.address,
      close: (grace) => {
        serving.abort();
        return server.close(grace);
      },
    };
    // At once: what another process puts there later must not pass for ours.
    this.#served = identity(this.#socket);
  }

  /** Reports whether our socket is at its path. It may have been deleted before its identity was known. */
  #isServed(): boolean {
    return this.#served !== undefined && identity(this.#socket) === this.#served;
  }

  #watch(): void {
    const { directory, log } = this.#options;
    const folder = identity(directory);
    if (this.#watcher !== undefined && folder === this.#watched) return;
    this.#watcher?.close();
    this.#watched = folder;
    const watcher = watch(directory, { persistent: false }, (event, name) => {
      // Files of the kubelet and other plugins are ignored.
      if (event === "rename" && (name === null || name === this.#socketName || name === "kubelet.sock"))
        this.look();
    });
    watcher.on("error", (error) => {
      log.warn({ directory, error: error.message }, "Watching the folder of device plugins failed");
      watcher.close();
      if (this.#watcher === watcher) this.#watcher = undefined;
    });
    this.#watcher = watcher;
  }

  /** Registers, if the kubelet's socket is there and is not the one with which we are registered. */
  async #register(): Promise<void> {
    const { clock, log, signal } = this.#options;
    if (!this.#devices.known || signal.aborted) return;
    const kubelet = identity(this.#kubelet);
    if (kubelet === undefined) {
      this.#registered = undefined;
      return;
    }
    // A kubelet deletes all sockets before it makes its own, and would dial a deleted one for 10 seconds.
    if (!this.#isServed()) {
      this.look();
      return;
    }
    if (kubelet !== this.#tried) {
      // Another kubelet starts without the rejections of its predecessor.
      this.#tried = kubelet;
      this.#delay = registerDelays.first;
      this.#notBefore = 0;
    }
    if (kubelet === this.#registered || clock.now() < this.#notBefore) return;
    const resource = this.#plugin.name;
    // Until it is known how it went.
    this.#notBefore = clock.now() + this.#delay;
    this.#delay = Math.min(this.#delay * 2, registerDelays.last);
    try {
      const channel = unixChannel(this.#kubelet);
      try {
        await channel.caller(RegistrationDefinition).register(
          {
            version: "v1beta1",
            endpoint: this.#socketName,
            resourceName: resource,
            options: {
              preStartRequired: this.#plugin.preStart !== undefined,
              getPreferredAllocationAvailable: this.#plugin.preferred !== undefined,
            },
          },
          { timeout: registerTimeout, signal },
        );
      } finally {
        channel.close();
      }
    } catch (error) {
      if (signal.aborted) return;
      log.error({ resource, error: (error as Error).message }, "The kubelet refused the registration");
      return;
    }
    this.#registered = kubelet;
    log.info({ resource }, "Registered with the kubelet");
  }

  #opened(): void {
    this.#streams++;
    this.#openedAt = this.#options.clock.now();
  }

  #closed(): void {
    const { clock, log, signal } = this.#options;
    this.#streams--;
    if (this.#streams > 0 || signal.aborted) return;
    const now = clock.now();
    // A kubelet that turns away again and again is asked less and less often.
    if (now - this.#openedAt > registerDelays.last) this.#delay = registerDelays.first;
    this.#notBefore = now + this.#delay;
    this.#registered = undefined;
    log.info({ resource: this.#plugin.name }, "The kubelet no longer follows the devices");
    this.look();
  }
}

/**
 * Identity of a file, which differs from that of a later one at the same path; undefined if it does not
 * exist.
 */
function identity(path: string): string | undefined {
  try {
    const { ino, birthtimeNs } = lstatSync(path, { bigint: true });
    return `${ino}/${birthtimeNs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
