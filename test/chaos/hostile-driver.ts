/**
 * A driver that means harm, as a process: `ROOT NODE KUBECONFIG SEED MODE`. It offers devices of
 * `hostile.example.com` on one node and answers the kubelet with errors of a megabyte, answers that are too
 * large, wrong or missing, or not at all. In the mode `calm` it does what a driver should, so that what it
 * held can be let go.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ResourceSlice } from "@dray/api/resource/v1";
import { createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { service, unixServer } from "@dray/rpc";
import { DRAPluginDefinition } from "@dray/rpc/dra/v1";
import { RegistrationDefinition } from "@dray/rpc/pluginregistration/v1";
import { Random } from "@dray/testing/random";
import { hostileClass as driverName } from "./pods.ts";

const [root = "", nodeName = "", kubeconfig = "", seed = "0", mode = "hostile"] = process.argv.slice(2);
const random = new Random(Number(seed));
const hostile = mode === "hostile";
const poolName = `hostile-${nodeName}`;
const kind = "hostile.example.com/device";
const endpoint = `/var/lib/kubelet/plugins/${driverName}/dra.sock`;
const specOf = (uid: string): string => join(root, "var/run/cdi", `hostile_${uid}.json`);
const megabyte = 1 << 20;

/** Returns the error of a call that misbehaves; undefined if the call is to be answered. */
async function misbehave(): Promise<string | undefined> {
  if (!hostile || random.chance(0.3)) return undefined;
  const ways: readonly (() => string | Promise<string>)[] = [
    () => `refused ${"\u0007\n☠".repeat(megabyte / 4)}`,
    () => "x".repeat(15 * megabyte),
    () => sleep(120_000, "late"),
    () => {
      throw new Error("broken ".repeat(random.below(1000)));
    },
    () => process.exit(1),
    () => "\0",
    () => "no",
  ];
  return random.pick(ways)();
}

const devices = (uid: string) => ({
  devices: [
    {
      requestNames: hostile && random.chance(0.2) ? ["x".repeat(megabyte)] : ["gpu"],
      poolName: hostile && random.chance(0.2) ? "../../.." : poolName,
      deviceName: hostile && random.chance(0.2) ? "d".repeat(megabyte) : "device-0",
      cdiDeviceIds:
        hostile && random.chance(0.3)
          ? Array.from({ length: random.below(50_000) }, (_, i) => `no-such/device=${i}`)
          : [`${kind}=${uid}`],
    },
  ],
  error: "",
});

mkdirSync(dirname(join(root, endpoint)), { recursive: true });
await unixServer(join(root, endpoint), [
  service(DRAPluginDefinition, {
    async nodePrepareResources({ claims }) {
      const problem = await misbehave();
      if (problem !== undefined && random.chance(0.3)) return { claims: {} };
      return {
        claims: Object.fromEntries(
          claims.map(({ uid }) => {
            if (problem !== undefined) return [uid, { devices: [], error: problem }];
            const device = { name: uid, containerEdits: { env: ["HOSTILE=1"] } };
            writeFileSync(specOf(uid), JSON.stringify({ cdiVersion: "0.5.0", kind, devices: [device] }));
            return [hostile && random.chance(0.1) ? `${uid}-other` : uid, devices(uid)];
          }),
        ),
      };
    },
    async nodeUnprepareResources({ claims }) {
      const problem = random.chance(0.7) ? undefined : await misbehave();
      if (problem === undefined) for (const { uid } of claims) rmSync(specOf(uid), { force: true });
      return { claims: Object.fromEntries(claims.map(({ uid }) => [uid, { error: problem ?? "" }])) };
    },
  }),
]);

const register = (file: string, name: string, versions: readonly string[]) =>
  unixServer(join(root, "var/lib/kubelet/plugins_registry", file), [
    service(RegistrationDefinition, {
      getInfo: async () => ({ type: "DRAPlugin", name, endpoint, supportedVersions: [...versions] }),
      notifyRegistrationStatus: async () => ({}),
    }),
  ]);
await register("hostile-reg.sock", driverName, ["v1.DRAPlugin"]);
if (hostile) {
  await register("hostile-name-reg.sock", `${"n".repeat(megabyte)}`, ["v1.DRAPlugin"]);
  await register("hostile-version-reg.sock", "version.example.com", ["v".repeat(10 * megabyte)]);
}

const { connection } = await loadKubeconfig({ file: kubeconfig });
const client = createClient({ transport: httpsTransport(connection), userAgent: "chaos/hostile" });
const slice = {
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name: poolName },
  spec: {
    driver: driverName,
    nodeName,
    pool: { name: poolName, generation: 1, resourceSliceCount: 1 },
    devices: Array.from({ length: 20 }, (_, i) => ({ name: `device-${i}` })),
  },
} as const;
for (;;) {
  // The kubelet removes it when this process is gone for half a minute, so that it is written again and
  // again.
  await client
    .resource(ResourceSlice)
    .create(slice as never)
    .catch(() => {});
  await sleep(1000);
}
