import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Draft } from "@dray/api";
import { ConfigMap, Namespace, Node } from "@dray/api/core/v1";
import { type DeviceRequestAllocationResult, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type CdiRegistry, cdiRegistry } from "@dray/cdi";
import type { Client, Log } from "@dray/client";
import { type Channel, unixChannel } from "@dray/rpc";
import { DRAPluginDefinition, type NodePrepareResourceResponse } from "@dray/rpc/dra/v1";
import { DRAResourceHealthDefinition, type NodeWatchResourcesResponse } from "@dray/rpc/drahealth/v1";
import { startApiServer } from "@dray/testing/api-server";
import { skipClock } from "@dray/testing/clock";
import { eventually } from "@dray/testing/eventually";
import {
  type HealthRecord,
  healthConfigMap,
  healthNamespace,
  readFleet,
  runSimulation,
  type SimulatedNode,
} from "../index.ts";

/**
 * A real API server in this process, and one node whose drivers are simulated, called as the kubelet does.
 */
export interface Simulation {
  readonly client: Client;
  readonly node: SimulatedNode;
  readonly log: string[];
  /** Runs the drivers of the fleet, whose text needs no header, until `stop`. */
  start(fleet: string, drivers: readonly string[]): Promise<{ stop(): Promise<void> }>;
  /** A claim with these devices, allocated as the scheduler does it. */
  claim(
    results: readonly (Pick<DeviceRequestAllocationResult, "driver" | "device"> &
      Partial<DeviceRequestAllocationResult>)[],
    parameters?: object,
  ): Promise<ResourceClaim>;
  prepare(driver: string, claim: ResourceClaim): Promise<NodePrepareResourceResponse>;
  /** The error; "" on success. */
  unprepare(driver: string, claim: ResourceClaim): Promise<string>;
  /** Result for a container with all devices of the response. */
  edits(answer: NodePrepareResourceResponse): Promise<Awaited<ReturnType<CdiRegistry["resolve"]>>>;
  /** Health reports of the driver, until `see` returns true for one. */
  watchHealth(driver: string, see: (message: NodeWatchResourcesResponse) => boolean): Promise<void>;
  slices(driver: string): Promise<readonly ResourceSlice[]>;
  close(): Promise<void>;
}

export const nodeName = "n1";

export async function createSimulation(): Promise<Simulation> {
  const root = mkdtempSync("/tmp/ds-");
  const server = await startApiServer();
  const client = server.admin();
  await client.resource(Node).create({ metadata: { name: nodeName, labels: { zone: "a" } }, spec: {} });
  await client.resource(Namespace).create({ metadata: { name: healthNamespace }, spec: {} });
  const node: SimulatedNode = {
    name: nodeName,
    registrarDirectory: join(root, "plugins_registry"),
    pluginsDirectory: join(root, "plugins"),
    cdiDirectory: join(root, "cdi"),
  };
  const lines: string[] = [];
  const write = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: write, info: write, warn: write, error: write };
  const running = new Set<{ stop(): Promise<void> }>();
  const socket = (driver: string): string => join(node.pluginsDirectory, driver, "dra.sock");
  const ref = ({ metadata: { uid, namespace, name } }: ResourceClaim) => ({ uid, namespace, name });

  return {
    client,
    node,
    log: lines,
    async start(text, drivers) {
      const fleet = readFleet([
        { file: "fleet.yaml", text: `apiVersion: dray.dev/v1alpha1\nkind: Fleet\n${text}` },
      ]);
      const stop = new AbortController();
      // Skips the wait of ending drivers for their claims: no test unprepares those.
      const own = skipClock();
      const signal = stop.signal;
      const done = runSimulation({ fleet, nodes: [node], client, clock: own, log, signal, bootID: "boot" });
      const one = {
        async stop() {
          running.delete(one);
          stop.abort();
          setImmediate(() => own.skip(60_000));
          await done;
        },
      };
      running.add(one);
      for (const driver of drivers) {
        const registration = join(node.registrarDirectory, `${driver}-reg.sock`);
        await eventually(`${driver} registers: ${lines.join("\n")}`, () => existsSync(registration));
      }
      return one;
    },
    claim: (results, parameters) => allocatedClaim(client, results, parameters),
    prepare: (driver, claim) =>
      onSocket(socket(driver), async (channel) => {
        const dra = channel.caller(DRAPluginDefinition);
        const { claims } = await dra.nodePrepareResources({ claims: [ref(claim)] }, { timeout: 20_000 });
        return claims[claim.metadata.uid]!;
      }),
    unprepare: (driver, claim) =>
      onSocket(socket(driver), async (channel) => {
        const dra = channel.caller(DRAPluginDefinition);
        const { claims } = await dra.nodeUnprepareResources({ claims: [ref(claim)] }, { timeout: 20_000 });
        return claims[claim.metadata.uid]!.error;
      }),
    edits: (answer) =>
      cdiRegistry([node.cdiDirectory]).resolve(answer.devices.flatMap(({ cdiDeviceIds }) => cdiDeviceIds)),
    watchHealth: (driver, see) =>
      onSocket(socket(driver), async (channel) => {
        const stop = new AbortController();
        const health = channel.caller(DRAResourceHealthDefinition);
        try {
          for await (const message of health.nodeWatchResources({}, { signal: stop.signal }))
            if (see(message)) return;
        } finally {
          stop.abort();
        }
        throw new Error("the stream has ended");
      }),
    slices: async (driver) =>
      (await client.resource(ResourceSlice).list({ fieldSelector: `spec.driver=${driver}` })).items,
    async close() {
      await Promise.all([...running].map((one) => one.stop()));
      client.close();
      await server.close();
      rmSync(root, { recursive: true });
    },
  };
}

/** Says how a device is, as `dray device` does. */
export async function setHealth(client: Client, record: HealthRecord): Promise<void> {
  await client.resource(ConfigMap).apply(healthConfigMap(record), { fieldManager: "test", force: true });
}

/** Calls a driver over a channel of its own. */
async function onSocket<R>(path: string, call: (channel: Channel) => Promise<R>): Promise<R> {
  const channel = unixChannel(path);
  try {
    return await call(channel);
  } finally {
    channel.close();
  }
}

async function allocatedClaim(
  client: Client,
  ...[results, parameters]: Parameters<Simulation["claim"]>
): Promise<ResourceClaim> {
  const driver = results[0]!.driver;
  const config =
    parameters === undefined ? [] : [{ source: "FromClaim", requests: [], opaque: { driver, parameters } }];
  const draft: Draft<ResourceClaim> = {
    metadata: { namespace: "default", generateName: "claim-" },
    spec: {
      devices: { requests: [{ name: "r", exactly: { deviceClassName: "c", count: results.length } }] },
    },
  };
  const created = await client.resource(ResourceClaim).create(draft);
  const full = results.map((result) => ({ request: "r", pool: nodeName, ...result }));
  const status = { allocation: { devices: { results: full, config } } };
  return client
    .resource(ResourceClaim)
    .update({ ...created, status } as ResourceClaim, { subresource: "status" });
}
