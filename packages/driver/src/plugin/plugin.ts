import { createHash } from "node:crypto";
import { type FSWatcher, lstatSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import { type Clock, type Log, sleep } from "@dray/client";
import { makeFolder } from "@dray/files";
import {
  checkSocketPath,
  type Handlers,
  maxSocketPathBytes,
  type RpcServer,
  type Service,
  service,
  unixServer,
} from "@dray/rpc";
import { DRAPluginDefinition as DRAPluginV1 } from "@dray/rpc/dra/v1";
import { DRAPluginDefinition as DRAPluginV1beta1 } from "@dray/rpc/dra/v1beta1";
import { DRAResourceHealthDefinition as HealthV1 } from "@dray/rpc/drahealth/v1";
import { DRAResourceHealthDefinition as HealthV1alpha1 } from "@dray/rpc/drahealth/v1alpha1";
import { RegistrationDefinition } from "@dray/rpc/pluginregistration/v1";
import type { Claims } from "../claims/claims.ts";
import type { Driver } from "../types/driver.ts";
import { healthStream } from "./health.ts";
import type { Metrics } from "./metrics.ts";

export interface PluginOptions {
  readonly driver: Driver;
  readonly claims: Claims;
  /** `<kubelet root>/plugins_registry` */
  readonly registrarDirectory: string;
  /** `<kubelet root>/plugins` */
  readonly pluginsDirectory: string;
  readonly podUID?: string;
  /** The versions of the DRA gRPC API that are served. */
  readonly nodeAPIs: readonly NodeAPI[];
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the driver cannot go on serving. */
  readonly fail: (error: Error) => void;
}

/** A version of the DRA gRPC API between kubelet and drivers. */
export type NodeAPI = "v1" | "v1beta1";

/** Paths of the sockets on which a driver serves the kubelet. */
export interface SocketPaths {
  readonly dra: string;
  readonly registration: string;
}

/** The sockets of a driver for the kubelet. */
export interface Plugin {
  readonly paths: SocketPaths;
  close(): Promise<void>;
}

/**
 * `dra.sock` and `<driver>-reg.sock`; with the UID of a pod in the name, so that two instances can overlap
 * during a rolling update (KEP-4381). A name that would be too long has a hash in place of the UID. Throws if
 * even the folders are too long.
 */
export function socketPaths(
  driver: string,
  {
    registrarDirectory,
    pluginsDirectory,
    podUID,
  }: Pick<PluginOptions, "registrarDirectory" | "pluginsDirectory" | "podUID">,
): SocketPaths {
  const pick = (make: (instance: string) => string): string => {
    const path = make(podUID === undefined ? "" : `-${podUID}`);
    if (podUID !== undefined && Buffer.byteLength(path) > maxSocketPathBytes) {
      const hash = createHash("sha256").update(podUID).digest("hex").slice(0, 8);
      return make(`-${hash}`);
    }
    return path;
  };
  const paths = {
    dra: pick((instance) => join(pluginsDirectory, driver, `dra${instance}.sock`)),
    registration: pick((instance) => join(registrarDirectory, `${driver}${instance}-reg.sock`)),
  };
  checkSocketPath(paths.dra);
  checkSocketPath(paths.registration);
  return paths;
}

const rejectedDelays = { first: 1000, last: 30_000 };
/** Besides notifications of the file system, which do not outlive a folder that is made anew. */
const lookEvery = 10_000;

/** Serves both sockets, the registration one last, and brings back what is deleted until `close`. */
export async function servePlugin(options: PluginOptions): Promise<Plugin> {
  const { driver, clock, log } = options;
  const paths = socketPaths(driver.name, options);
  await makeFolder(options.registrarDirectory, 0o750);
  await makeFolder(dirname(paths.dra), 0o750);

  const sockets: Socket[] = [
    { path: paths.dra, services: draServices(options) },
    { path: paths.registration, services: [registration(options, paths.dra, notified)] },
  ];
  let closed = false;
  let rejectedDelay = rejectedDelays.first;
  let cancelLook = () => {};
  let looking: Promise<void> = Promise.resolve();
  const watchers: FSWatcher[] = [];

  for (const socket of sockets) await serve(socket);
  for (const path of Object.values(paths)) watchFolder(dirname(path));
  lookLater();
  return {
    paths,
    async close() {
      closed = true;
      cancelLook();
      for (const watcher of watchers) watcher.close();
      await looking;
      // The registration socket first: the kubelet then unregisters the driver before calls to it fail.
      for (const { server } of sockets.toReversed()) await server?.close();
    },
  };

  /** Older kubelets do not try again by themselves: they need a new socket to see. */
  function notified(registered: boolean): void {
    const delay = rejectedDelay;
    options.metrics.registered = registered;
    rejectedDelay = registered ? rejectedDelays.first : Math.min(delay * 2, rejectedDelays.last);
    if (!registered) clock.after(delay, () => then(() => replace(sockets[1]!)));
  }

  function then(work: () => Promise<void>): void {
    looking = looking.then(work).catch((error: Error) => {
      log.error({ error: error.message }, "Serving the driver's sockets failed");
    });
  }

  function watchFolder(folder: string): void {
    const watcher = watch(folder, { persistent: false }, look);
    watcher.on("error", (error) => log.warn({ folder, error: error.message }, "Watching a folder failed"));
    watchers.push(watcher);
  }

  function lookLater(): void {
    cancelLook();
    cancelLook = clock.after(lookEvery, () => {
      look();
      lookLater();
    });
  }

  function look(): void {
    then(async () => {
      for (const socket of sockets) await check(socket);
    });
  }

  async function check(socket: Socket): Promise<void> {
    if (closed || inodeOf(socket.path) === socket.inode) return;
    // Another process that takes the path over removes it first: check again.
    await sleep(clock, 100);
    const inode = inodeOf(socket.path);
    if (inode === undefined) await replace(socket);
    // Two that take the path from each other would never end.
    else if (!closed && inode !== socket.inode) {
      options.fail(new Error(`another process has taken over ${socket.path}`));
    }
  }

  async function replace(socket: Socket): Promise<void> {
    if (closed) return;
    log.info({ socket: socket.path }, "Serving a socket anew");
    // Closing removes the path, so it must come first.
    await socket.server?.close(0);
    delete socket.server;
    await makeFolder(dirname(socket.path), 0o750);
    await serve(socket);
  }
}

interface Socket {
  readonly path: string;
  readonly services: readonly Service[];
  server?: RpcServer;
  /** Inode of the path at its creation; no other file gets it while we hold it. */
  inode?: bigint | undefined;
}

async function serve(socket: Socket): Promise<void> {
  socket.server = await unixServer(socket.path, socket.services);
  // At once: what another process puts there later must not pass for ours.
  socket.inode = inodeOf(socket.path);
}

function inodeOf(path: string): bigint | undefined {
  try {
    return lstatSync(path, { bigint: true }).ino;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function registration(
  { driver, nodeAPIs, log }: PluginOptions,
  endpoint: string,
  notified: (registered: boolean) => void,
): Service {
  return service(RegistrationDefinition, {
    async getInfo() {
      return {
        type: "DRAPlugin",
        name: driver.name,
        endpoint,
        // The kubelet takes the first that it supports.
        supportedVersions: [
          ...(["v1", "v1beta1"] as const)
            .filter((version) => nodeAPIs.includes(version))
            .map((version) => `${version}.DRAPlugin`),
          ...(driver.health === undefined ? [] : ["v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"]),
        ],
      };
    },
    async notifyRegistrationStatus({ pluginRegistered, error }) {
      if (pluginRegistered) {
        log.info({ driver: driver.name }, "Registered with the kubelet");
      } else {
        log.error({ driver: driver.name, error }, "The kubelet refused the registration");
      }
      notified(pluginRegistered);
      return {};
    },
  });
}

function draServices({ driver, claims, nodeAPIs, metrics, clock, log }: PluginOptions): Service[] {
  const handlers: Handlers<typeof DRAPluginV1> = {
    async nodePrepareResources({ claims: refs }, { signal }) {
      // Health checks ask with none.
      if (refs.length > 0) log.info({}, `PrepareResourceClaims is called: number of claims: ${refs.length}`);
      const answers = refs.map(async (ref) => {
        try {
          return [
            ref.uid,
            { devices: await metrics.count("prepare", () => claims.prepare(ref, signal)), error: "" },
          ] as const;
        } catch (error) {
          log.error(
            { claim: `${ref.namespace}/${ref.name}`, error: textOf(error) },
            "Preparing a claim failed",
          );
          return [
            ref.uid,
            {
              devices: [],
              error: `error preparing devices for claim ${ref.uid}: ${textOf(error)}`,
            },
          ] as const;
        }
      });
      return { claims: Object.fromEntries(await Promise.all(answers)) };
    },
    async nodeUnprepareResources({ claims: refs }) {
      log.info({}, `UnprepareResourceClaims is called: number of claims: ${refs.length}`);
      const answers = refs.map(async (ref) => {
        try {
          await metrics.count("unprepare", () => claims.unprepare(ref));
          return [ref.uid, { error: "" }] as const;
        } catch (error) {
          log.error(
            { claim: `${ref.namespace}/${ref.name}`, error: textOf(error) },
            "Unpreparing a claim failed",
          );
          return [
            ref.uid,
            { error: `error unpreparing devices for claim ${ref.uid}: ${textOf(error)}` },
          ] as const;
        }
      });
      return { claims: Object.fromEntries(await Promise.all(answers)) };
    },
  };
  // v1beta1 is v1 without share_id, which its messages leave out by themselves.
  const services = [
    ...(nodeAPIs.includes("v1") ? [service(DRAPluginV1, handlers)] : []),
    ...(nodeAPIs.includes("v1beta1") ? [service(DRAPluginV1beta1, handlers)] : []),
  ];
  const { health } = driver;
  if (health === undefined) return services;
  const watchHealth = {
    nodeWatchResources: (_: object, { signal }: { signal: AbortSignal }) =>
      healthStream((inner) => health.call(driver, inner), clock, log, signal),
  };
  return [...services, service(HealthV1, watchHealth), service(HealthV1alpha1, watchHealth)];
}

/**
 * Maximum length of an error's text, in characters: the kubelet rejects a response of more than 4 MiB.
 */
const maxErrorText = 4096;

/** The message of whatever a driver threw: an Error or any other value. */
function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.length > maxErrorText ? `${text.slice(0, maxErrorText)}...` : text;
}
