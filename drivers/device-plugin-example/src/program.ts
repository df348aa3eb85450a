import { type Log, systemClock } from "@dray/client";
import { runDevicePlugin } from "@dray/driver/device-plugin";
import { simulatedDevices } from "./devices.ts";
import { helpText, readOptions } from "./options.ts";

const say = (fields: object, message: string): void =>
  void process.stderr.write(`${new Date().toISOString()} ${message} ${JSON.stringify(fields)}\n`);
const log: Log = { debug() {}, info: say, warn: say, error: say };

/** Runs the program, configured by flags, until a signal. Ends the process. */
export async function runProgram(args: readonly string[]): Promise<never> {
  // A failing log, as on a full disk, must not end the program.
  process.stderr.on("error", () => {});
  try {
    await run(args);
  } catch (error) {
    log.error({ error: (error as Error).message }, "The device plugin cannot run");
    process.exitCode = 1;
  }
  // Open handles must not keep the process alive.
  process.exit();
}

async function run(args: readonly string[]): Promise<void> {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());
  const options = readOptions(args);
  if (options === undefined) {
    process.stdout.write(helpText);
    return;
  }
  log.info({ resource: options.resource, devices: options.count }, "Starting the simulated device plugin");
  await runDevicePlugin(simulatedDevices({ ...options, clock: systemClock, log }), {
    directory: options.directory,
    clock: systemClock,
    log,
    signal: stop.signal,
  });
}
