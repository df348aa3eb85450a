import { createClient, httpsTransport, inClusterConfig, loadKubeconfig, systemClock } from "@dray/client";
import { runDriver } from "@dray/driver";
import { readEnvironment } from "./environment.ts";
import { gpuDriver } from "./gpu.ts";
import { klog } from "./klog.ts";

/** The program: told everything by its environment, ended by a signal. */
// A log that cannot be written, as on a full disk, is not a reason to end.
process.stderr.on("error", () => {});
const log = klog(systemClock, (line) => void process.stderr.write(line));

try {
  await main();
} catch (error) {
  log.error({ error: (error as Error).message }, "The driver cannot run");
  process.exitCode = 1;
}
// Whatever still holds the process open has nothing left to do.
process.exit();

async function main(): Promise<void> {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());
  const { nodeName, deviceCount, driverName, ...environment } = readEnvironment(process.env);
  const { connection } = process.env["KUBECONFIG"] ? await loadKubeconfig() : await inClusterConfig();
  const transport = httpsTransport(connection);
  const client = createClient({ transport, userAgent: "dra-example-kubeletplugin", log });
  log.info({ driver: driverName, node: nodeName, devices: deviceCount }, "Starting the example driver");
  try {
    await runDriver(gpuDriver({ nodeName, count: deviceCount, driverName }), {
      client,
      nodeName,
      ...environment,
      clock: systemClock,
      log,
      signal: stop.signal,
    });
  } finally {
    client.close();
  }
}
