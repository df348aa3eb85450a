import { type FSWatcher, lstatSync, readdirSync, watch } from "node:fs";
import { join } from "node:path";
import { type Clock, type Log, sleep } from "@dray/client";
import { unixChannel } from "@dray/rpc";
import { type PluginInfo, RegistrationDefinition } from "@dray/rpc/pluginregistration/v1";
import { type DraPlugins, type DraService, draServices } from "./plugins.ts";

/** Deadlines of the registration protocol, in milliseconds. */
const dialTimeout = 10_000;
const infoTimeout = 1000;
const notifyTimeout = 5000;
const firstRetry = 500;
const longestRetry = 120_000;

export interface PluginWatcherOptions {
  /** The folder `plugins_registry`. */
  readonly directory: string;
  readonly plugins: DraPlugins;
  /** The place on this machine of a path that a driver names. */
  onMachine(path: string): string;
  readonly clock: Clock;
  readonly log: Log;
}

interface Entry {
  /** Another socket at the same path is another plugin. */
  readonly identity: string;
  readonly stop: AbortController;
  registered: { readonly driver: string; readonly endpoint: string } | undefined;
}

/** Registers the plugins whose sockets appear in a folder and its sub-folders, and unregisters those that go. */
export class PluginWatcher {
  readonly #options: PluginWatcherOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #entries = new Map<string, Entry>();
  #scheduled = false;
  #closed = false;

  constructor(options: PluginWatcherOptions) {
    this.#options = options;
  }

  /** Watches from now on; the folder must exist. */
  start(): void {
    this.#scan();
  }

  close(): void {
    this.#closed = true;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    for (const entry of this.#entries.values()) entry.stop.abort();
    this.#entries.clear();
  }

  #changed(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#closed) this.#scan();
    });
  }

  #scan(): void {
    const sockets = new Map<string, string>();
    const folders = new Set<string>();
    const look = (folder: string): void => {
      folders.add(folder);
      // First watch, then look: nothing that comes in between is missed.
      this.#watch(folder);
      for (const entry of readEntries(folder)) {
        if (entry.name.startsWith(".")) continue;
        const path = join(folder, entry.name);
        if (entry.isDirectory()) look(path);
        else if (entry.isSocket()) {
          const stat = lstatSync(path, { throwIfNoEntry: false, bigint: true });
          if (stat !== undefined) sockets.set(path, `${stat.ino}/${stat.birthtimeNs}`);
        }
      }
    };
    look(this.#options.directory);
    for (const [folder, watcher] of this.#watchers)
      if (!folders.has(folder)) {
        watcher.close();
        this.#watchers.delete(folder);
      }
    // Those that go come first, so that a successor may have their endpoint.
    for (const [path, entry] of this.#entries)
      if (sockets.get(path) !== entry.identity) {
        entry.stop.abort();
        this.#entries.delete(path);
        const { registered } = entry;
        if (registered !== undefined)
          this.#options.plugins.unregister(registered.driver, registered.endpoint);
      }
    for (const [path, identity] of sockets)
      if (!this.#entries.has(path)) {
        const entry: Entry = { identity, stop: new AbortController(), registered: undefined };
        this.#entries.set(path, entry);
        void this.#register(path, entry);
      }
  }

  #watch(folder: string): void {
    if (this.#watchers.has(folder)) return;
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#changed());
      watcher.on("error", () => {
        watcher.close();
        this.#watchers.delete(folder);
        this.#changed();
      });
      this.#watchers.set(folder, watcher);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }

  async #register(path: string, entry: Entry): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = entry.stop;
    for (let delay = firstRetry; !signal.aborted; delay = Math.min(delay * 2, longestRetry)) {
      try {
        await this.#tryRegister(path, entry);
        return;
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ socket: path, err: error, delay }, "a plugin could not be registered yet");
      }
      await sleep(clock, delay, signal);
    }
  }

  async #tryRegister(path: string, entry: Entry): Promise<void> {
    const { plugins } = this.#options;
    const { signal } = entry.stop;
    const channel = unixChannel(path);
    try {
      await channel.ready(dialTimeout);
      const caller = channel.caller(RegistrationDefinition);
      const info = await caller.getInfo({}, { timeout: infoTimeout, signal });
      const notify = (error: string): Promise<unknown> =>
        caller.notifyRegistrationStatus(
          { pluginRegistered: error === "", error },
          { timeout: notifyTimeout, signal },
        );
      try {
        const service = check(info);
        const endpoint = info.endpoint === "" ? path : this.#options.onMachine(info.endpoint);
        if (signal.aborted) return;
        plugins.register(info.name, endpoint, service);
        entry.registered = { driver: info.name, endpoint };
      } catch (error) {
        await notify((error as Error).message);
        throw error;
      }
      try {
        await notify("");
      } catch (error) {
        plugins.unregister(entry.registered.driver, entry.registered.endpoint);
        entry.registered = undefined;
        throw error;
      }
    } finally {
      channel.close();
    }
  }
}

function readEntries(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** The version of its service to use: the first of the plugin's own list that is known here. */
function check({ type, name, supportedVersions }: PluginInfo): DraService {
  if (type !== "DRAPlugin")
    throw new Error(`plugins of type ${JSON.stringify(type)} are not supported on this node; DRAPlugin is`);
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name) || name.length > 63)
    throw new Error(
      `driver name ${JSON.stringify(name)} must be a lower-case DNS subdomain of at most 63 characters`,
    );
  const service = supportedVersions.find((version) => (draServices as readonly string[]).includes(version));
  if (service === undefined)
    throw new Error(
      `none of the versions gRPC API for DRA of driver ${name} is supported: it has [${supportedVersions.join(", ")}], supported are [${draServices.join(", ")}]`,
    );
  return service as DraService;
}
