import { writeFileSync } from "node:fs";
import { createClient, httpsTransport, loadKubeconfig, systemClock } from "@dray/client";
import { runDriver } from "@dray/driver";
import { exampleDriver, gpuProfile, klog, readOptions } from "../index.ts";

/**
 * The example driver, except that the method in `STUCK_IN` (prepare or unprepare) does its work and never
 * returns.
 */
const { nodeName, registrarDirectory, pluginsDirectory, cdiDirectory } = readOptions([], process.env);
const gpus = exampleDriver({ nodeName, profile: gpuProfile(nodeName, { count: 9 }) });
const stuck = <R>(what: string, result: Promise<R>): Promise<R> => {
  if (process.env["STUCK_IN"] !== what) return result;
  writeFileSync(process.env["STUCK_MARK"]!, "");
  return new Promise(() => {});
};
const driver: typeof gpus = {
  ...gpus,
  prepare: (claim, signal) => stuck("prepare", gpus.prepare(claim, signal)),
  unprepare: (claim) => stuck("unprepare", gpus.unprepare(claim)),
};
const { connection } = await loadKubeconfig();
const log = klog(systemClock, (line) => void process.stderr.write(line));
await runDriver(driver, {
  client: createClient({ transport: httpsTransport(connection), userAgent: "stuck", log }),
  nodeName,
  registrarDirectory,
  pluginsDirectory,
  cdiDirectory,
  clock: systemClock,
  log,
  signal: new AbortController().signal,
});
