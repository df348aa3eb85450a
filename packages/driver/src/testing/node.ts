import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { Node } from "@dray/api/core/v1";
import { type DeviceRequestAllocationResult, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type Client, type Clock, createClient, type Log, systemClock } from "@dray/client";
import { type Channel, unixChannel } from "@dray/rpc";
import { type Device, DRAPluginDefinition as DRAPluginV1 } from "@dray/rpc/dra/v1";
import { DRAPluginDefinition as DRAPluginV1beta1 } from "@dray/rpc/dra/v1beta1";
import { RegistrationDefinition } from "@dray/rpc/pluginregistration/v1";
import type { CrashStep } from "../claims/claims.ts";
import type { Driver } from "../driver.ts";
import { type SocketPaths, socketPaths } from "../plugin/plugin.ts";
import { type RunOptions, runDriverInSteps } from "../run.ts";
import { memoryApi } from "./api.ts";
import { type ContainerView, viewContainer } from "./container.ts";

export interface DriverNodeOptions {
  /** `node-1` by default. */
  readonly nodeName?: string;
  /** Gets the driver's log; by default it is kept in `DriverNode.log`. */
  readonly log?: Log;
  readonly serialize?: boolean;
  readonly podUID?: string;
  readonly nodeAPIs?: RunOptions["nodeAPIs"];
}

/** A device that is to be allocated to a claim, as the scheduler would do it. */
export interface AllocateDevice extends Partial<Omit<DeviceRequestAllocationResult, "device" | "driver">> {
  readonly device: string;
}

export interface ClaimOptions {
  /** Made up if absent. */
  readonly name?: string;
  /** `default` if absent. */
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Their `request` is `devices`, their pool the node's, unless they say otherwise. They must be published. */
  readonly devices: readonly AllocateDevice[];
  /** Parameters for the driver, in the order of the allocation; from the claim and for all requests by default. */
  readonly config?: readonly {
    readonly parameters: unknown;
    readonly source?: "FromClass" | "FromClaim";
    readonly requests?: readonly string[];
  }[];
}

/** A driver that runs, with a kubelet's side of its own, an API server in memory, and no containers. */
export interface DriverNode {
  readonly nodeName: string;
  /** The API server, as an administrator sees it. */
  readonly client: Client;
  /** The folders of the driver: `plugins`, `plugins_registry`, `cdi`. */
  readonly folder: string;
  /** What the driver logged: `message {"fields":"..."}`. */
  readonly log: readonly string[];
  /** The slices in the order of their names, once all that the driver yielded last is published. */
  slices(): Promise<readonly ResourceSlice[]>;
  /** Waits for the next publication after what `change` does. */
  published(change: () => void): Promise<readonly ResourceSlice[]>;
  /** A claim with devices allocated to it. Rejects if one of them is not published. */
  claim(options: ClaimOptions): Promise<TestClaim>;
  /** The driver dies when it comes to this step the next time: the call fails, and `start` runs a new one. */
  crashAt(step: CrashStep): void;
  /** Ends the driver with a signal. */
  stop(): Promise<void>;
  /** Runs a new driver after `stop`, a crash or `reboot`, with nothing in memory of the one before. */
  start(): Promise<void>;
  /** Stops the driver, and takes what a reboot takes: the CDI files, and the identity of the boot. */
  reboot(): Promise<void>;
  /** Files of claims that the driver has left: checkpoints, CDI specs, metadata; relative to `folder`. */
  claimFiles(): Promise<string[]>;
  /** Ends everything and removes the folder. Rejects if the driver had ended by itself, with its error. */
  close(): Promise<void>;
}

/** A claim, and what the kubelet does with it. */
export interface TestClaim {
  readonly claim: ResourceClaim;
  /** As before the first container of a pod, and again after a restart of the kubelet. Rejects with the driver's error. */
  prepare(): Promise<PreparedView>;
  /** As after the last container. Rejects with the driver's error. */
  unprepare(): Promise<void>;
  /** Removes it from the API server. */
  delete(): Promise<void>;
}

export interface PreparedView {
  /** As the driver answered. */
  readonly devices: readonly Device[];
  /** What a container gets that asks for the claim, or for one request of it. */
  container(request?: string): Promise<ContainerView>;
}

/** Milliseconds that a call of the kubelet may take (45 s), and that anything else may. */
const callTimeout = 45_000;
const startTimeout = 30_000;

/** What a driver "dies" of. */
class SimulatedCrash extends Error {
  override readonly name = "SimulatedCrash";
}

/**
 * Runs the driver that `make` returns, a new one for each start, on a node of its own: in this process, with real sockets
 * and files in a temporary folder. Resolves when the kubelet's side has registered it and its devices are published.
 */
export async function startDriverNode<P>(
  make: () => Driver<P>,
  options: DriverNodeOptions = {},
): Promise<DriverNode> {
  const { nodeName = "node-1", serialize = true } = options;
  // A short one: paths of sockets end at 107 bytes.
  const folder = await mkdtemp("/tmp/dn-");
  const registrarDirectory = join(folder, "plugins_registry");
  const pluginsDirectory = join(folder, "plugins");
  const cdiDirectory = join(folder, "cdi");
  const lines: string[] = [];
  const keep = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = options.log ?? { debug: keep, info: keep, warn: keep, error: keep };
  // Nobody waits here for claims that stay prepared when a driver ends: its time leaps then.
  let leap = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + leap };
  const api = memoryApi(clock);
  const client = createClient({ transport: api.transport, userAgent: "test" });
  await client.resource(Node).create({ metadata: { name: nodeName }, spec: {} });

  let boots = 1;
  let claims = 0;
  let publications = 0;
  let running: Running | undefined;
  const crashes = new Set<CrashStep>();
  const heard = new Set<() => void>();

  interface Running {
    readonly stop: AbortController;
    /** Never rejects. */
    readonly ended: Promise<Error | undefined>;
    readonly dra: Channel;
    readonly v1: boolean;
    readonly name: string;
    crashed: boolean;
  }

  const describe = (error: Error | undefined): Error =>
    new Error(`the driver ended${error === undefined ? "" : `: ${error.message}`}`, { cause: error });

  /** `work`, unless the driver ends before. */
  const orEnd = async <T>(ended: Promise<Error | undefined>, what: string, work: Promise<T>): Promise<T> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () =>
          reject(
            new Error(`${what} has not happened within ${startTimeout / 1000} s; log:\n${lines.join("\n")}`),
          ),
        startTimeout,
      );
    });
    try {
      return await Promise.race([
        work,
        late,
        ended.then((error): never => {
          throw describe(error);
        }),
      ]);
    } finally {
      clearTimeout(timer);
    }
  };

  const publication = (after: number): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (publications <= after) return;
        heard.delete(look);
        resolve();
      };
      heard.add(look);
      look();
    });

  const present = (): Running => {
    if (running === undefined) throw new Error("the driver does not run: call start()");
    return running;
  };

  const start = async (): Promise<void> => {
    if (running !== undefined) throw new Error("the driver runs already");
    const driver = make();
    const before = publications;
    const stop = new AbortController();
    const paths: SocketPaths = socketPaths(driver.name, {
      registrarDirectory,
      pluginsDirectory,
      ...(options.podUID === undefined ? {} : { podUID: options.podUID }),
    });
    const self: { one?: Running } = {};
    const ended = runDriverInSteps(
      driver,
      {
        client,
        nodeName,
        registrarDirectory,
        pluginsDirectory,
        cdiDirectory,
        clock,
        log,
        signal: stop.signal,
        bootID: `boot-${boots}`,
        serialize,
        ...(options.podUID === undefined ? {} : { podUID: options.podUID }),
        ...(options.nodeAPIs === undefined ? {} : { nodeAPIs: options.nodeAPIs }),
        onPublished() {
          publications++;
          for (const look of heard) look();
        },
      },
      (step) => {
        if (self.one?.crashed !== true && !crashes.delete(step)) return;
        if (self.one !== undefined) self.one.crashed = true;
        throw new SimulatedCrash(`the driver dies at ${step}`);
      },
    ).then(
      () => undefined,
      (error: Error) => error,
    );
    const registration = unixChannel(paths.registration);
    try {
      await orEnd(ended, "the registration socket", registration.ready(startTimeout));
      const kubelet = registration.caller(RegistrationDefinition);
      const { endpoint, supportedVersions } = await kubelet.getInfo({}, { timeout: callTimeout });
      const dra = unixChannel(endpoint);
      await orEnd(ended, "the driver's socket", dra.ready(startTimeout));
      await kubelet.notifyRegistrationStatus({ pluginRegistered: true, error: "" }, { timeout: callTimeout });
      const v1 = supportedVersions.includes("v1.DRAPlugin");
      running = { stop, ended, dra, v1, name: driver.name, crashed: false };
      self.one = running;
    } catch (error) {
      stop.abort();
      await ended;
      throw error;
    } finally {
      registration.close();
    }
    await orEnd(ended, "the publication of the devices", publication(before));
  };

  const end = async (): Promise<Error | undefined> => {
    const one = running;
    if (one === undefined) return undefined;
    running = undefined;
    one.stop.abort();
    setImmediate(() => {
      leap += 60_000;
    });
    one.dra.close();
    return one.ended;
  };

  const stop = async (): Promise<void> => {
    const error = await end();
    if (error !== undefined) throw describe(error);
  };

  /** What a crash at a step leaves of a call: nothing answers any more. */
  const call = async <T>(work: (one: Running) => Promise<T>): Promise<T> => {
    const one = present();
    try {
      return await work(one);
    } finally {
      if (one.crashed) await end();
    }
  };

  const slices = async (): Promise<readonly ResourceSlice[]> => {
    const { items } = await client.resource(ResourceSlice).list();
    return [...items].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  };

  const checkPublished = async (driver: string, devices: readonly { pool: string; device: string }[]) => {
    const known = (await slices())
      .filter(({ spec }) => spec.driver === driver)
      .flatMap(({ spec }) => (spec.devices ?? []).map(({ name }) => `${spec.pool.name}/${name}`));
    for (const { pool, device } of devices) {
      if (known.includes(`${pool}/${device}`)) continue;
      throw new Error(
        `device ${pool}/${device} is not published; published are ${known.join(", ") || "none"}`,
      );
    }
  };

  const testClaim = (claim: ResourceClaim): TestClaim => {
    const { uid, namespace, name } = claim.metadata;
    const request = { claims: [{ uid, namespace, name }] };
    const checked = <A extends { error: string }>(answers: Record<string, A>): A => {
      const answer = answers[uid];
      if (answer === undefined) throw new Error(`the driver gave no answer for claim ${uid}`);
      if (answer.error !== "") throw new Error(answer.error);
      return answer;
    };
    return {
      claim,
      prepare: () =>
        call(async ({ dra, v1 }) => {
          const caller = v1 ? dra.caller(DRAPluginV1) : dra.caller(DRAPluginV1beta1);
          const answer = await caller.nodePrepareResources(request, { timeout: callTimeout });
          const devices: readonly Device[] = checked(answer.claims).devices;
          return { devices, container: (name) => viewContainer(cdiDirectory, devices, name) };
        }),
      unprepare: () =>
        call(async ({ dra, v1 }) => {
          const caller = v1 ? dra.caller(DRAPluginV1) : dra.caller(DRAPluginV1beta1);
          checked((await caller.nodeUnprepareResources(request, { timeout: callTimeout })).claims);
        }),
      async delete() {
        await client.resource(ResourceClaim).delete({ namespace, name });
      },
    };
  };

  const node: DriverNode = {
    nodeName,
    client,
    folder,
    log: lines,
    slices,
    async published(change) {
      const { ended } = present();
      const before = publications;
      change();
      await orEnd(ended, "the publication of the change", publication(before));
      return slices();
    },
    async claim({ name = `claim-${++claims}`, namespace = "default", annotations, devices, config = [] }) {
      const driver = present().name;
      const results = devices.map((one) => ({ request: "devices", pool: nodeName, ...one, driver }));
      await checkPublished(driver, results);
      const requests = [...new Set(results.map(({ request }) => request.split("/")[0]!))];
      const claim = await client.resource(ResourceClaim).create({
        metadata: { namespace, name, ...(annotations === undefined ? {} : { annotations }) },
        spec: {
          devices: { requests: requests.map((one) => ({ name: one, exactly: { deviceClassName: driver } })) },
        },
        status: {
          allocation: {
            devices: {
              results,
              config: config.map(({ parameters, source = "FromClaim", requests = [] }) => ({
                source,
                requests: [...requests],
                opaque: { driver, parameters },
              })),
            },
          },
        },
      } as never);
      return testClaim(claim);
    },
    crashAt: (step) => void crashes.add(step),
    stop,
    start,
    async reboot() {
      await end();
      boots++;
      await rm(cdiDirectory, { recursive: true, force: true });
    },
    async claimFiles() {
      const files = await readdir(folder, { recursive: true, withFileTypes: true });
      const driver = make().name;
      return files
        .filter((file) => file.isFile())
        .map((file) => relative(folder, join(file.parentPath, file.name)))
        .filter(
          (file) => file !== join("plugins", driver, "serialize.lock") && !file.endsWith("_common.json"),
        )
        .sort();
    },
    async close() {
      const error = await end();
      api.close();
      client.close();
      await rm(folder, { recursive: true, force: true });
      if (error !== undefined) throw describe(error);
    },
  };

  try {
    await start();
  } catch (error) {
    await node.close().catch(() => {});
    throw error;
  }
  return node;
}
