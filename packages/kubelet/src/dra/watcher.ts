import { type FSWatcher, watch } from "node:fs";
import { type Clock, type Log, sleep } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import { unixChannel } from "@dray/rpc";
import { type PluginInfo, RegistrationDefinition } from "@dray/rpc/pluginregistration/v1";
import { shortened } from "../base/text.ts";
import { type DraPlugins, type DraService, draServices } from "./plugins.ts";
import { readRegistry } from "./registry.ts";

/** Timeouts of the registration protocol in milliseconds. */
const dialTimeout = 10_000;
const infoTimeout = 1000;
const notifyTimeout = 5000;
const minRetryDelay = 500;
const maxRetryDelay = 120_000;
/**
 * Minimum interval between two scans of the folder in milliseconds, so that a driver cannot keep the process
 * busy.
 */
const scanInterval = 50;
/** Milliseconds before a folder that cannot be watched is scanned again. */
const unwatchedInterval = 5000;
/** Maximum number of versions of services that a plugin may list. */
const maxVersions = 100;
/** Maximum length of a path, in characters. */
const maxEndpoint = 4096;
/** Maximum number of log lines about ignored entries per minute. */
const maxRemarks = 20;

/** Handler of plugins of a type other than DRAPlugin. */
export interface PluginHandler {
  /** Connects to the plugin at `endpoint`, a path of the machine. Throws or rejects if it cannot be used. */
  register(info: PluginInfo, endpoint: string): Promise<void>;
  /** Called when its registration socket is gone. */
  unregister(name: string, endpoint: string): void;
}

export interface PluginWatcherOptions {
  /** Path of `plugins_registry`. */
  readonly directory: string;
  readonly plugins: DraPlugins;
  /** Handler of plugins of the type DevicePlugin, which are refused without it. */
  readonly devicePlugins?: PluginHandler;
  /** Maps a path that a driver names to one of this machine. */
  onMachine(path: string): string;
  readonly clock: Clock;
  readonly log: Log;
}

interface Entry {
  /** Another socket at the same path is another plugin. */
  readonly identity: string;
  readonly stop: AbortController;
  registered:
    | {
        readonly driver: string;
        readonly endpoint: string;
        readonly handler: Pick<PluginHandler, "unregister">;
      }
    | undefined;
}

interface Watched {
  /** Identity of the folder: another one at the same path needs a watch of its own. */
  readonly identity: string;
  readonly watcher: FSWatcher;
}

/**
 * Registers the plugins whose sockets appear in a folder and its sub-folders, and unregisters those that go.
 */
export class PluginWatcher {
  readonly #options: PluginWatcherOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #entries = new Map<string, Entry>();
  /** Ignored entries, with the reason that was logged. */
  #ignored: ReadonlyMap<string, string> = new Map();
  #remarks = { since: 0, count: 0 };
  #scannedAt = Number.NEGATIVE_INFINITY;
  #cancelScan: (() => void) | undefined;
  #cancelLook: (() => void) | undefined;
  #closed = false;

  constructor(options: PluginWatcherOptions) {
    this.#options = options;
  }

  /** Starts watching. */
  start(): void {
    this.#scan();
  }

  close(): void {
    this.#closed = true;
    this.#cancelScan?.();
    this.#cancelLook?.();
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
    for (const entry of this.#entries.values()) entry.stop.abort();
    this.#entries.clear();
  }

  #changed(): void {
    if (this.#cancelScan !== undefined || this.#closed) return;
    const { clock } = this.#options;
    const wait = this.#scannedAt + scanInterval - clock.now();
    const scan = (): void => {
      this.#cancelScan = undefined;
      if (!this.#closed) this.#scan();
    };
    if (wait > 0) this.#cancelScan = clock.after(wait, scan);
    else {
      const immediate = setImmediate(scan);
      this.#cancelScan = () => clearImmediate(immediate);
    }
  }

  #scan(): void {
    const { directory, clock } = this.#options;
    this.#scannedAt = clock.now();
    let unwatched: Error | undefined;
    const watched = (folder: string, identity: string): void => {
      try {
        this.#watch(folder, identity);
      } catch (error) {
        unwatched = error as Error;
      }
    };
    let { sockets, folders, ignored } = readRegistry(directory, watched);
    if (!folders.has(directory)) {
      try {
        makeFolderSync(directory, 0o750);
        ({ sockets, folders, ignored } = readRegistry(directory, watched));
      } catch (error) {
        unwatched = error as Error;
      }
    }
    this.#remark(
      unwatched === undefined
        ? ignored
        : new Map([...ignored, [directory, `${directory} cannot be watched: ${unwatched.message}`]]),
    );
    // Changes in a folder without a watch are not reported.
    this.#cancelLook?.();
    this.#cancelLook =
      unwatched === undefined ? undefined : clock.after(unwatchedInterval, () => this.#changed());
    for (const [folder, { watcher }] of this.#watched)
      if (!folders.has(folder)) {
        watcher.close();
        this.#watched.delete(folder);
      }
    // Removed ones first, so that a successor may have their endpoint.
    for (const [path, entry] of this.#entries)
      if (sockets.get(path) !== entry.identity) {
        entry.stop.abort();
        this.#entries.delete(path);
        const { registered } = entry;
        registered?.handler.unregister(registered.driver, registered.endpoint);
      }
    for (const [path, identity] of sockets)
      if (!this.#entries.has(path)) {
        const entry: Entry = { identity, stop: new AbortController(), registered: undefined };
        this.#entries.set(path, entry);
        void this.#register(path, entry);
      }
  }

  /** Throws if the folder cannot be watched. */
  #watch(folder: string, identity: string): void {
    const known = this.#watched.get(folder);
    if (known?.identity === identity) return;
    known?.watcher.close();
    this.#watched.delete(folder);
    const watcher = watch(folder, { persistent: false }, () => this.#changed());
    watcher.on("error", () => {
      watcher.close();
      if (this.#watched.get(folder)?.watcher === watcher) this.#watched.delete(folder);
      this.#changed();
    });
    this.#watched.set(folder, { identity, watcher });
  }

  /** Logs each ignored entry once, as long as it stays. */
  #remark(ignored: ReadonlyMap<string, string>): void {
    const { clock, log } = this.#options;
    const fresh = [...ignored].filter(([path, reason]) => this.#ignored.get(path) !== reason);
    this.#ignored = ignored;
    if (clock.now() - this.#remarks.since >= 60_000) this.#remarks = { since: clock.now(), count: 0 };
    for (const [path, reason] of fresh) {
      this.#remarks.count++;
      if (this.#remarks.count > maxRemarks) break;
      const more = this.#remarks.count === maxRemarks ? "; further ones are not logged for a minute" : "";
      log.warn({ path, reason }, `an entry among the sockets of plugins is ignored${more}`);
    }
  }

  async #register(path: string, entry: Entry): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = entry.stop;
    let said = "";
    for (let delay = minRetryDelay; !signal.aborted; delay = Math.min(delay * 2, maxRetryDelay)) {
      try {
        await this.#tryRegister(path, entry);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const { message } = error as Error;
        log[message === said ? "debug" : "warn"](
          { socket: path, err: error, delay },
          "a plugin could not be registered yet",
        );
        said = message;
      }
      await sleep(clock, delay, signal);
    }
  }

  async #tryRegister(path: string, entry: Entry): Promise<void> {
    const { plugins, devicePlugins, log } = this.#options;
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
      if (info.type === "CSIPlugin") {
        // Without a response the plugin waits; after a failure it would end and register again for ever.
        log.info(
          { socket: path, name: shortened(info.name, 100) },
          "a CSI plugin is ignored: this node has no CSI",
        );
        return;
      }
      try {
        const handler = info.type === "DevicePlugin" ? devicePlugins : undefined;
        if (handler === undefined) {
          const service = check(info);
          const endpoint = this.#endpointOf(info, path);
          if (signal.aborted) return;
          plugins.register(info.name, endpoint, service, info.supportedVersions.slice(0, maxVersions));
          entry.registered = { driver: info.name, endpoint, handler: plugins };
        } else {
          const endpoint = this.#endpointOf(info, path);
          await handler.register(info, endpoint);
          if (signal.aborted) return handler.unregister(info.name, endpoint);
          entry.registered = { driver: info.name, endpoint, handler };
        }
      } catch (error) {
        await notify(shortened((error as Error).message));
        throw error;
      }
      try {
        await notify("");
      } catch (error) {
        const { driver, endpoint, handler } = entry.registered;
        handler.unregister(driver, endpoint);
        entry.registered = undefined;
        throw error;
      }
    } finally {
      channel.close();
    }
  }

  /** Endpoint of the plugin, as a path of the machine. */
  #endpointOf({ name, endpoint }: PluginInfo, path: string): string {
    if (endpoint.length > maxEndpoint)
      throw new Error(
        `endpoint ${quoted(endpoint)} of driver ${shortened(name, 100)} is no path of a socket: it is too long`,
      );
    return endpoint === "" ? path : this.#options.onMachine(endpoint);
  }
}

/** The version of its service to use: the first supported one in the plugin's list. */
function check({ type, name, supportedVersions }: PluginInfo): DraService {
  if (type !== "DRAPlugin")
    throw new Error(`plugins of type ${quoted(type)} are not supported on this node; DRAPlugin is`);
  // Checks the length first: the pattern is slow on long texts.
  if (name.length > 63 || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name))
    throw new Error(
      `driver name ${quoted(name)} must be a lower-case DNS subdomain of at most 63 characters`,
    );
  const versions = supportedVersions.slice(0, maxVersions);
  const service = versions.find((version) => (draServices as readonly string[]).includes(version));
  if (service === undefined) {
    const problem =
      versions.length === 0
        ? "empty list of supported gRPC services (aka supported versions)"
        : `none of services supported by the plugin (${shortened(quotedList(versions), 200)}) are supported by the kubelet (${quotedList(draServices)})`;
    throw new Error(`invalid supported gRPC versions of DRA driver plugin ${name}: ${problem}`);
  }
  return service as DraService;
}

function quotedList(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`;
}

function quoted(text: string): string {
  return JSON.stringify(shortened(text, 100));
}
