import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolderSync } from "@dray/files";
import { type CallContext, type RpcServer, type Service, service, unixServer } from "@dray/rpc";
import { DRAPluginDefinition } from "@dray/rpc/dra/v1";
import {
  type DeviceHealth,
  DRAResourceHealthDefinition as HealthV1,
  type NodeWatchResourcesResponse,
} from "@dray/rpc/drahealth/v1";
import { DRAResourceHealthDefinition as HealthV1alpha1 } from "@dray/rpc/drahealth/v1alpha1";
import { type PluginInfo, RegistrationDefinition } from "@dray/rpc/pluginregistration/v1";

/** A minimal DRA driver on real sockets that records its calls. */
export interface TestDriver {
  readonly calls: string[];
  readonly registered: { pluginRegistered: boolean; error: string }[];
  /** Error of the next prepare. */
  prepareError: string;
  unprepareError: string;
  /** Device of the next prepare. */
  device: string;
  /** Devices of the next prepare instead, in any form. */
  devices: readonly object[] | undefined;
  /** Edits beside the variable in the next CDI devices. */
  edits: object;
  /** Called before a claim is unprepared. */
  unpreparing: () => void;
  /** Delays responses until it resolves. */
  gate: Promise<void>;
  /** Versions of the health service of opened streams. */
  readonly streams: string[];
  /** Sends the health of devices over all streams, and over new ones at their start. */
  report(devices: readonly Partial<DeviceHealth>[]): void;
  /** Ends all streams. */
  endStreams(): void;
  close(): Promise<void>;
}

/** Fields of the driver's registration, and its health. */
export interface TestDriverOptions extends Partial<PluginInfo> {
  /** Ending of the names of its sockets. */
  readonly suffix?: string;
  /** Versions of the health service that it serves. */
  readonly health?: readonly ("v1" | "v1alpha1")[];
}

export async function testDriver(
  root: string,
  name: string,
  { suffix = "", health = [], ...info }: TestDriverOptions = {},
): Promise<TestDriver> {
  const streams = healthStreams();
  const cdi = join(root, "var/run/cdi");
  const spec = (uid: string): string => join(cdi, `test-gpu_${uid}.json`);
  const servers: RpcServer[] = [];
  const driver: TestDriver = {
    calls: [],
    registered: [],
    prepareError: "",
    unprepareError: "",
    device: "gpu-0",
    devices: undefined,
    edits: {},
    unpreparing: () => {},
    gate: Promise.resolve(),
    streams: streams.opened,
    report: streams.report,
    endStreams: streams.end,
    async close() {
      await Promise.all(servers.map((server) => server.close(0)));
    },
  };
  const endpoint = `/var/lib/kubelet/plugins/${name}/dra${suffix}.sock`;
  makeFolderSync(dirname(join(root, endpoint)));
  servers.push(
    await unixServer(join(root, endpoint), [
      service(DRAPluginDefinition, {
        async nodePrepareResources({ claims }) {
          driver.calls.push(`prepare ${claims.map((claim) => claim.name).join(" ")}`);
          await driver.gate;
          return {
            claims: Object.fromEntries(
              claims.map((claim) => {
                if (driver.prepareError !== "")
                  return [claim.uid, { devices: [], error: driver.prepareError }];
                const device = {
                  name: claim.uid,
                  containerEdits: { env: [`GPU=${claim.name}`], ...driver.edits },
                };
                writeFileSync(
                  spec(claim.uid),
                  JSON.stringify({ cdiVersion: "0.5.0", kind: "test/gpu", devices: [device] }),
                );
                return [
                  claim.uid,
                  {
                    devices: (driver.devices as never) ?? [
                      {
                        requestNames: ["gpu"],
                        poolName: "pool",
                        deviceName: driver.device,
                        cdiDeviceIds: [`test/gpu=${claim.uid}`],
                      },
                    ],
                    error: "",
                  },
                ];
              }),
            ),
          };
        },
        async nodeUnprepareResources({ claims }) {
          driver.unpreparing();
          driver.calls.push(`unprepare ${claims.map((claim) => claim.name).join(" ")}`);
          for (const { uid } of claims) if (driver.unprepareError === "") rmSync(spec(uid), { force: true });
          return {
            claims: Object.fromEntries(claims.map(({ uid }) => [uid, { error: driver.unprepareError }])),
          };
        },
      }),
      ...health.map(streams.service),
    ]),
  );
  servers.push(
    await unixServer(join(root, `var/lib/kubelet/plugins_registry/${name}${suffix}-reg.sock`), [
      service(RegistrationDefinition, {
        getInfo: async () => ({
          type: "DRAPlugin",
          name,
          endpoint,
          supportedVersions: ["v1.DRAPlugin", ...health.map((version) => `${version}.DRAResourceHealth`)],
          ...info,
        }),
        async notifyRegistrationStatus(status) {
          driver.registered.push(status);
          return {};
        },
      }),
    ]),
  );
  return driver;
}

/** The health service, with all its streams. */
function healthStreams() {
  const opened: string[] = [];
  const ends = new Set<() => void>();
  const wakes = new Set<() => void>();
  let last: NodeWatchResourcesResponse | undefined;
  const open = (version: string) =>
    async function* (_: object, { signal }: CallContext): AsyncGenerator<NodeWatchResourcesResponse> {
      opened.push(version);
      let ended = false;
      let wake = (): void => {};
      const end = (): void => {
        ended = true;
        wake();
      };
      ends.add(end);
      signal.addEventListener("abort", end);
      let sent: NodeWatchResourcesResponse | undefined;
      while (!ended) {
        if (last !== undefined && last !== sent) {
          sent = last;
          yield sent;
          continue;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
          wakes.add(resolve);
        });
      }
      ends.delete(end);
    };
  return {
    opened,
    service: (version: "v1" | "v1alpha1"): Service =>
      version === "v1"
        ? service(HealthV1, { nodeWatchResources: open(version) })
        : service(HealthV1alpha1, { nodeWatchResources: open(version) }),
    report(devices: readonly Partial<DeviceHealth>[]): void {
      last = {
        devices: devices.map((device) => ({
          device: { poolName: "pool", deviceName: "gpu-0" },
          health: 0,
          lastUpdatedTime: 0,
          healthCheckTimeoutSeconds: 0,
          message: "",
          ...device,
        })),
      };
      for (const wake of wakes) wake();
      wakes.clear();
    },
    end(): void {
      for (const end of ends) end();
    },
  };
}
