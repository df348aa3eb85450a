import { createClient, httpsTransport, loadKubeconfig, systemClock } from "@dray/client";
import { type Driver, runDriver } from "@dray/driver";

export const lamps: Driver = {
  name: "lamp.example.com",
  async *discover() {
    yield [{ devices: [{ name: "lamp-0" }, { name: "lamp-1" }] }];
  },
  async prepare(claim) {
    return claim.devices.map((device) => ({ device, edits: { env: [`LAMP=${device.result.device}`] } }));
  },
  async unprepare() {},
};

export async function main(nodeName: string, kubelet: string, cdiDirectory: string, signal: AbortSignal) {
  const log = { debug() {}, info: say, warn: say, error: say };
  const transport = httpsTransport((await loadKubeconfig()).connection);
  await runDriver(lamps, {
    client: createClient({ transport, userAgent: "lamps" }),
    nodeName,
    registrarDirectory: `${kubelet}/plugins_registry`,
    pluginsDirectory: `${kubelet}/plugins`,
    cdiDirectory,
    clock: systemClock,
    log,
    signal,
  });
}

function say(fields: object, message: string): void {
  process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
}
