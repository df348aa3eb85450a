/** A driver of lamps, for the kubelet whose folder is the first argument, until its standard input ends. */
import { createClient, httpsTransport, type Log, loadKubeconfig, systemClock } from "@dray/client";
import { type AllocatedClaim, type Driver, type Pool, runDriver } from "@dray/driver";

const lamps: Driver = {
  name: "lamp.example.com",
  async *discover(): AsyncGenerator<readonly Pool[]> {
    yield [{ devices: [{ name: "lamp-0", attributes: { color: { string: "red" } } }, { name: "lamp-1" }] }];
  },
  async prepare(claim: AllocatedClaim) {
    return claim.devices.map((device) => ({ device, edits: { env: [`LAMP=${device.result.device}`] } }));
  },
  async unprepare() {},
};

const say = (fields: object, message: string): void =>
  void process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
const log: Log = { debug() {}, info: say, warn: say, error: say };

const [, , kubelet = "/var/lib/kubelet", nodeName = ""] = process.argv;
const stop = new AbortController();
process.stdin.once("end", () => stop.abort()).resume();
const transport = httpsTransport((await loadKubeconfig()).connection);
await runDriver(lamps, {
  client: createClient({ transport, userAgent: "lamps", log }),
  nodeName,
  registrarDirectory: `${kubelet}/plugins_registry`,
  pluginsDirectory: `${kubelet}/plugins`,
  cdiDirectory: `${kubelet}/cdi`,
  clock: systemClock,
  log,
  signal: stop.signal,
});
process.exit();
