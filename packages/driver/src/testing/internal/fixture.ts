import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Node } from "@dray/api/core/v1";
import { type DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import type { Log } from "@dray/client";
import { type Driver, type RunOptions, runDriver } from "@dray/driver";
import { type Channel, unixChannel } from "@dray/rpc";
import { DRAPluginDefinition, type NodePrepareResourcesResponse } from "@dray/rpc/dra/v1";
import { RegistrationDefinition } from "@dray/rpc/pluginregistration/v1";
import { skipClock } from "@dray/testing/clock";
import { createFakeApi, type FakeApi } from "./fake-api.ts";

export const driverName = "lamp.example.com";
export const nodeName = "node-a";

/** Folders of one node and an API server, with drivers that come and go on it. */
export interface Fixture {
  readonly root: string;
  readonly api: FakeApi;
  readonly log: string[];
  readonly paths: {
    registrar: string;
    plugins: string;
    cdi: string;
    dra: string;
    registration: string;
    claims: string;
  };
  /** Resolves when both sockets are there. */
  start(driver: Driver, options?: Partial<RunOptions>): Promise<Running>;
  prepare(...claims: ResourceClaim[]): Promise<NodePrepareResourcesResponse["claims"]>;
  unprepare(
    ...claims: { metadata: { uid: string; namespace: string; name: string } }[]
  ): Promise<Record<string, string>>;
  /** A claim with devices of the driver, allocated. */
  claim(name: string, results: Partial<DeviceRequestAllocationResult>[], allocation?: object): ResourceClaim;
  close(): Promise<void>;
}

export interface Running {
  stop(): Promise<void>;
  readonly done: Promise<void>;
}

export function fixture(): Fixture {
  const root = mkdtempSync("/tmp/dray-driver-");
  const api = createFakeApi();
  api.put(Node, { metadata: { name: nodeName, uid: "node-uid" }, spec: {} });
  const paths = pathsIn(root);
  const lines: string[] = [];
  const write = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: write, info: write, warn: write, error: write };
  const running = new Set<Running>();
  const channels = new Map<string, Channel>();
  const channel = (path: string): Channel => {
    const found = channels.get(path) ?? unixChannel(path);
    channels.set(path, found);
    return found;
  };
  const dra = () => channel(paths.dra).caller(DRAPluginDefinition);
  const refs = (claims: readonly { metadata: { uid: string; namespace: string; name: string } }[]) =>
    claims.map(({ metadata: { uid, namespace, name } }) => ({ uid, namespace, name }));

  return {
    root,
    api,
    log: lines,
    paths,
    async start(driver, options = {}) {
      const stop = new AbortController();
      // Tests do not wait for claims that nobody will unprepare: the clock skips a moment after the driver is
      // asked to end.
      const clock = skipClock();
      const done = runDriver(driver, {
        client: api.client,
        nodeName,
        registrarDirectory: paths.registrar,
        pluginsDirectory: paths.plugins,
        cdiDirectory: paths.cdi,
        clock,
        log,
        signal: stop.signal,
        bootID: "boot-1",
        ...options,
      });
      const one: Running = {
        done,
        async stop() {
          running.delete(one);
          stop.abort();
          setImmediate(() => clock.skip(60_000));
          await done;
        },
      };
      running.add(one);
      if (options.podUID !== undefined) return one;
      const registration = unixChannel(paths.registration);
      try {
        await Promise.race([registration.ready(5000), done]);
        await Promise.race([channel(paths.dra).ready(5000), done]);
      } finally {
        registration.close();
      }
      return one;
    },
    async prepare(...claims) {
      return (await dra().nodePrepareResources({ claims: refs(claims) }, { timeout: 5000 })).claims;
    },
    async unprepare(...claims) {
      const answer = await dra().nodeUnprepareResources({ claims: refs(claims) }, { timeout: 5000 });
      return Object.fromEntries(Object.entries(answer.claims).map(([uid, { error }]) => [uid, error]));
    },
    claim: (name, results, allocation = {}) =>
      api.put(ResourceClaim, {
        metadata: { namespace: "default", name },
        spec: {},
        status: {
          allocation: {
            devices: {
              results: results.map((result) => ({
                request: "lamp",
                driver: driverName,
                pool: nodeName,
                device: "lamp-0",
                ...result,
              })),
              ...allocation,
            },
          },
        },
      }),
    async close() {
      await Promise.all([...running].map((one) => one.stop().catch(() => {})));
      for (const one of channels.values()) one.close();
      rmSync(root, { recursive: true });
    },
  };
}

function pathsIn(root: string): Fixture["paths"] {
  const registrar = join(root, "plugins_registry");
  const plugins = join(root, "plugins");
  return {
    registrar,
    plugins,
    cdi: join(root, "cdi"),
    dra: join(plugins, driverName, "dra.sock"),
    registration: join(registrar, `${driverName}-reg.sock`),
    claims: join(plugins, driverName, "claims"),
  };
}

/** The kubelet's call when it finds a registration socket. */
export async function getInfo(path: string) {
  const channel = unixChannel(path);
  try {
    return await channel.caller(RegistrationDefinition).getInfo({}, { timeout: 5000 });
  } finally {
    channel.close();
  }
}

/** The kubelet's final result. */
export async function notify(path: string, pluginRegistered: boolean, error = "") {
  const channel = unixChannel(path);
  try {
    return await channel
      .caller(RegistrationDefinition)
      .notifyRegistrationStatus({ pluginRegistered, error }, { timeout: 5000 });
  } finally {
    channel.close();
  }
}
