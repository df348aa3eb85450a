import {
  ClientMetrics,
  createClient,
  httpsTransport,
  inClusterConfig,
  type Log,
  loadKubeconfig,
  systemClock,
} from "@dray/client";
import { claimStatusWriter, type Driver, type RunOptions, runDriver } from "@dray/driver";
import { readControllerOptions, runController } from "./controller.ts";
import { exampleDriver } from "./driver.ts";
import { klog } from "./klog.ts";
import { exampleMetrics } from "./metrics.ts";
import { helpText, type PluginOptions, readOptions } from "./options.ts";
import { cpuProfile } from "./profiles/cpu.ts";
import { gpuProfile } from "./profiles/gpu.ts";
import { netProfile } from "./profiles/net.ts";
import type { Profile } from "./profiles/profile.ts";

/** Runs the program, configured by flags and environment, until a signal. Ends the process. */
export async function runProgram(args: readonly string[], env: NodeJS.ProcessEnv): Promise<never> {
  // A failing log, as on a full disk, must not end the program.
  process.stderr.on("error", () => {});
  const log = klog(systemClock, (line) => void process.stderr.write(line));
  try {
    await run(args, env, log);
  } catch (error) {
    log.error({ error: (error as Error).message }, "The driver cannot run");
    process.exitCode = 1;
  }
  // Open handles must not keep the process alive.
  process.exit();
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv, log: Log): Promise<void> {
  if (args.some((arg) => arg === "--help" || arg === "-h")) {
    process.stdout.write(helpText);
    return;
  }
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());
  const { signal } = stop;
  const controller = readControllerOptions(args);
  if (controller !== undefined) {
    const { driverName, plugins } = controller;
    const client = await connect(controller.kubeconfig, env, { userAgent: "dra-example-controller", log });
    log.info(
      { driver: driverName, plugins: plugins.join() },
      "Starting the controller of the example driver",
    );
    await runController(controller, { client, clock: systemClock, log, signal });
    client.close();
    return;
  }
  const options = readOptions(args, env);
  for (const name of options.ignored)
    log.warn({ profile: options.profile.name }, `${name} has no meaning for this profile and is ignored`);
  await runPlugin(options, env, log, signal);
}

/** The variable can list several files, the flag has one. */
async function connect(
  file: string | undefined,
  env: NodeJS.ProcessEnv,
  { userAgent, log, metrics }: { userAgent: string; log: Log; metrics?: ClientMetrics | undefined },
) {
  const fromFiles = file !== undefined || Boolean(env["KUBECONFIG"]);
  const { connection } = fromFiles
    ? await loadKubeconfig({ env, ...(file === undefined ? {} : { file }) })
    : await inClusterConfig();
  return createClient({
    transport: httpsTransport(connection),
    userAgent,
    log,
    ...(metrics && { observer: metrics.requestsTo(connection.server) }),
  });
}

async function runPlugin(
  options: PluginOptions,
  env: NodeJS.ProcessEnv,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const { nodeName, driverName, profile, healthcheck, metrics: metricsAt } = options;
  const clientMetrics = metricsAt === undefined ? undefined : new ClientMetrics(() => performance.now());
  const client = await connect(options.kubeconfig, env, {
    userAgent: "dra-example-kubeletplugin",
    log,
    metrics: clientMetrics,
  });
  const metrics = exampleMetrics();
  const common = { nodeName, driverName };
  const runOptions: RunOptions = {
    client,
    nodeName,
    registrarDirectory: options.registrarDirectory,
    pluginsDirectory: options.pluginsDirectory,
    cdiDirectory: options.cdiDirectory,
    ...(options.podUID === undefined ? {} : { podUID: options.podUID }),
    clock: systemClock,
    log,
    signal,
    ...(healthcheck === undefined
      ? {}
      : {
          healthcheck: {
            ...healthcheck,
            onListening: (address) => log.info({ address }, "Serving the health check"),
          },
        }),
    ...(metricsAt === undefined
      ? {}
      : {
          metrics: {
            ...metricsAt,
            onListening: (address) => log.info({ address }, "Serving metrics"),
            onClaim: metrics.count,
            more: () => metrics.text() + (clientMetrics?.text() ?? ""),
          },
        }),
  };
  const start = async <C>(made: Profile<C>, status?: Parameters<typeof exampleDriver<C>>[0]["status"]) => {
    const driver: Driver<C> = {
      ...exampleDriver({ ...common, profile: made, ...(status === undefined ? {} : { status }) }),
      onError(_error, { fatal }) {
        if (fatal) metrics.countFatalError();
        return undefined;
      },
    };
    const devices = made.pool.devices.length;
    log.info({ driver: driverName, node: nodeName, devices }, "Starting the example driver");
    await runDriver(driver, runOptions);
  };
  try {
    if (profile.name === "gpu") {
      const writer = claimStatusWriter({ client, driver: driverName, clock: systemClock });
      await start(gpuProfile(nodeName, profile), profile.deviceStatus ? { writer, log } : undefined);
    } else if (profile.name === "net") await start(netProfile(nodeName, profile));
    else await start(cpuProfile(driverName, profile));
  } finally {
    client.close();
  }
}
