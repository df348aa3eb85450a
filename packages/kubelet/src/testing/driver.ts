import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { makeFolderSync } from "@dray/files";
import { type RpcServer, service, unixServer } from "@dray/rpc";
import { DRAPluginDefinition } from "@dray/rpc/dra/v1";
import { type PluginInfo, RegistrationDefinition } from "@dray/rpc/pluginregistration/v1";

/** A DRA driver as small as can be, on the real sockets, that writes down what it is asked. */
export interface TestDriver {
  readonly calls: string[];
  readonly registered: { pluginRegistered: boolean; error: string }[];
  /** What the next calls answer instead of success. */
  prepareError: string;
  unprepareError: string;
  /** What the next prepare answers with. */
  device: string;
  /** What the next prepare answers with instead, whatever it is. */
  devices: readonly object[] | undefined;
  /** Edits beside the variable in the next CDI devices. */
  edits: object;
  /** Called when a claim is to be unprepared. */
  unpreparing: () => void;
  /** Held until it resolves. */
  gate: Promise<void>;
  close(): Promise<void>;
}

export async function testDriver(
  root: string,
  name: string,
  suffix = "",
  info: Partial<PluginInfo> = {},
): Promise<TestDriver> {
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
    ]),
  );
  servers.push(
    await unixServer(join(root, `var/lib/kubelet/plugins_registry/${name}${suffix}-reg.sock`), [
      service(RegistrationDefinition, {
        getInfo: async () => ({
          type: "DRAPlugin",
          name,
          endpoint,
          supportedVersions: ["v1.DRAPlugin"],
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
