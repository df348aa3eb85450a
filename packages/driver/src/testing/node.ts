import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { Node } from "@dray/api/core/v1";
import type { ResourceSlice } from "@dray/api/resource/v1";
import { type Client, createClient, type Log } from "@dray/client";
import type { CrashStep } from "../claims/steps.ts";
import type { RunOptions } from "../run.ts";
import type { Driver } from "../types/driver.ts";
import { memoryApi } from "./api.ts";
import { type ClaimOptions, createTestClaim, listSlices, type TestClaim } from "./claims.ts";
import { DriverProcess, endError, LeapingClock } from "./driver-process.ts";

export interface DriverNodeOptions {
  /** `node-1` by default. */
  readonly nodeName?: string;
  /** Gets the driver's log; by default it is kept in `DriverNode.log`. */
  readonly log?: Log;
  readonly serialize?: boolean;
  readonly podUID?: string;
  readonly nodeAPIs?: RunOptions["nodeAPIs"];
}

/** A driver that runs, with a kubelet's side of its own, an API server in memory, and no containers. */
export interface DriverNode {
  readonly nodeName: string;
  /** The API server, as an administrator sees it. */
  readonly client: Client;
  /** The folders of the driver: `plugins`, `plugins_registry`, `cdi`. */
  readonly folder: string;
  /** Log of the driver: `message {"fields":"..."}`. */
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

/**
 * Runs the driver that `make` returns, a new one for each start, on a node of its own: in this process, with
 * real sockets and files in a temporary folder. Resolves when the kubelet's side has registered it and its
 * devices are published.
 */
export async function startDriverNode<P>(
  make: () => Driver<P>,
  options: DriverNodeOptions = {},
): Promise<DriverNode> {
  const { nodeName = "node-1", serialize = true, podUID, nodeAPIs } = options;
  // A short one: paths of sockets end at 107 bytes.
  const folder = await mkdtemp("/tmp/dn-");
  const lines: string[] = [];
  const keep = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const clock = new LeapingClock();
  const api = memoryApi(clock);
  const client = createClient({ transport: api.transport, userAgent: "test" });
  await client.resource(Node).create({ metadata: { name: nodeName }, spec: {} });
  const settings = {
    client,
    nodeName,
    registrarDirectory: join(folder, "plugins_registry"),
    pluginsDirectory: join(folder, "plugins"),
    cdiDirectory: join(folder, "cdi"),
    log: options.log ?? { debug: keep, info: keep, warn: keep, error: keep },
    serialize,
    ...(podUID === undefined ? {} : { podUID }),
    ...(nodeAPIs === undefined ? {} : { nodeAPIs }),
  };
  const driverProcess = new DriverProcess(make, settings, clock, lines);
  let claims = 0;
  const node: DriverNode = {
    nodeName,
    client,
    folder,
    log: lines,
    slices: () => listSlices(client),
    async published(change) {
      await driverProcess.published(change);
      return listSlices(client);
    },
    async claim({ name = `claim-${++claims}`, ...rest }) {
      return createTestClaim(driverProcess, settings, { name, ...rest });
    },
    crashAt: (step) => driverProcess.crashAt(step),
    stop: () => driverProcess.stop(),
    start: () => driverProcess.start(),
    reboot: () => driverProcess.reboot(),
    claimFiles: () => claimFiles(folder, make().name),
    async close() {
      const error = await driverProcess.end();
      api.close();
      client.close();
      await rm(folder, { recursive: true, force: true });
      if (error !== undefined) throw endError(error);
    },
  };
  try {
    await driverProcess.start();
  } catch (error) {
    await node.close().catch(() => {});
    throw error;
  }
  return node;
}

async function claimFiles(folder: string, driver: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.isFile())
    .map((file) => relative(folder, join(file.parentPath, file.name)))
    .filter((file) => file !== join("plugins", driver, "serialize.lock") && !file.endsWith("_common.json"))
    .sort();
}
