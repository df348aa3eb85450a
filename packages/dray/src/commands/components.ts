import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { parseFeatureGates } from "@dray/api";
import { type Client, type LeaderElectionOptions, type Log, leadWithLease, systemClock } from "@dray/client";
import {
  addToKubeconfigs,
  checkKubeconfigs,
  checkStoreVersion,
  choosePort,
  deviceUsage,
  ensureCredentials,
  kubeconfigFiles,
  openStore,
  prepareDataDir,
  recordStoreVersion,
  refreshKubeconfigs,
  serverAddresses,
  urlHost,
  writeKubeconfigs,
} from "@dray/cluster";
import type { Controllers } from "@dray/controllers";
import { frontProxy } from "../apiserver/front-proxy.ts";
import { type UpstreamFlags, upstreamOptions } from "../apiserver/options.ts";
import { connect } from "../connect.ts";
import { type ControllerFlags, controllerOptions } from "../controllers/options.ts";
import { endRequested } from "../end-requested.ts";
import { serveHealth } from "../health-server.ts";
import { keepHeapSmall } from "../heap.ts";
import { createLog } from "../log/create.ts";
import {
  bindAddressOption,
  checkNeededApis,
  featuresOption,
  runtimeConfigOption,
  serverApis,
  storeOption,
  wholeNumber,
} from "../options.ts";
import { shellWord } from "../shell.ts";
import { type TargetFlags, target } from "../target.ts";
import { remark, say } from "../verbosity.ts";

export interface ComponentOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
  readonly leaderElect?: boolean;
}

export interface ApiServerOptions extends UpstreamFlags, TargetFlags {
  readonly port: string;
  readonly bindAddress: string;
  readonly kubeconfig?: string;
  readonly store?: string;
  readonly runtimeConfig?: string;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
}

export async function apiserver(options: ApiServerOptions): Promise<void> {
  const { createServer, firstServiceAddress } = await import("@dray/apiserver");
  const { name, layout } = target(options);
  const wanted = wholeNumber("--port", options.port, 0, 65535);
  const bindAddress = bindAddressOption(options.bindAddress);
  const storeAt = storeOption(options.store ?? `sqlite:${layout.database}`);
  const features = featuresOption(options);
  const { version: kubernetesVersion } = features;
  const runtimeConfig = runtimeConfigOption(options.runtimeConfig ?? "");
  checkNeededApis(runtimeConfig, serverApis, "the API server");
  const upstream = upstreamOptions(options);
  const log = createLog("apiserver");
  prepareDataDir(layout);
  // Not $KUBECONFIG: kube-apiserver, in whose place this stands, writes to no file that it is not told of.
  const kubeconfigs = kubeconfigFiles(options.kubeconfig, layout, {});
  await checkKubeconfigs(layout, name, kubeconfigs);
  const port = await choosePort(bindAddress, wanted);
  const addresses = serverAddresses({
    bind: bindAddress,
    advertise: upstream.advertiseAddress,
    ...(upstream.server.serviceRanges && { also: upstream.server.serviceRanges.map(firstServiceAddress) }),
  });
  const credentials = await ensureCredentials(layout, [], systemClock.now(), addresses);
  const store = openStore(storeAt, systemClock);
  try {
    await checkStoreVersion(store, kubernetesVersion);
  } catch (error) {
    await store.close();
    throw error;
  }
  const server = await createServer({
    store,
    kubernetesVersion,
    featureGates: parseFeatureGates(options.featureGates ?? ""),
    runtimeConfig,
    ...upstream.server,
    deviceUsage: await deviceUsage(features, upstream.server.enabledAdmissionPlugins),
    clock: systemClock,
    log,
    serving: {
      ...(upstream.serving ?? credentials.server),
      clientAuthority: [credentials.authority.certificate, upstream.clientAuthority].join("\n"),
    },
    serviceAccounts: { key: credentials.serviceAccountKey, ...upstream.serviceAccounts },
    ...frontProxy(upstream.frontProxy, credentials),
    kubelet: { ...credentials.kubeletClient, ...upstream.kubelet },
    advertisedPort: port,
    advertisedAddress: addresses.advertised,
  });
  const olderVersion = await recordStoreVersion(store, kubernetesVersion);
  if (olderVersion !== undefined)
    remark(`the objects of Kubernetes ${olderVersion} are those of ${kubernetesVersion} from now on\n`);
  await server.listen({ host: bindAddress, port });
  const url = `https://${urlHost(addresses.local)}:${port}`;
  const certificate = [credentials.authority.certificate, upstream.serving?.certificate].join("\n");
  const authority = { ...credentials.authority, certificate };
  await writeKubeconfigs(layout, name, { ...credentials, authority }, url);
  const added = await addToKubeconfigs(layout, name, kubeconfigs);
  await refreshKubeconfigs(layout, name, (message) => remark(`note: ${message}\n`));
  say(`the API server is ready at ${url}\n  kubeconfig  ${shellWord(added?.file ?? layout.kubeconfig)}\n`);
  keepHeapSmall();
  await endRequested();
  await server.close();
  await store.close();
}

/** Milliseconds that a component which has failed takes to end by itself. */
const endTimeout = 5000;

/** The lease that a component holds while it works. */
export type Election = Pick<LeaderElectionOptions, "name" | "namespace"> &
  Partial<Pick<LeaderElectionOptions, "leaseDuration" | "renewDeadline" | "retryPeriod">>;

/** Runs a component with its own connection until a signal comes, alone or while it holds a lease. */
export async function component(
  name: string,
  options: ComponentOptions,
  start: (context: {
    client: Client;
    log: Log;
    signal: AbortSignal;
    ca: string | undefined;
  }) => Promise<{ readonly stopped: Promise<void> }>,
  election: Election = { name, namespace: "kube-system" },
): Promise<void> {
  const log = createLog(name.replace(/^kube-/, ""));
  const { client, ca } = await connect(options, `${name}/dray`, log);
  const stop = new AbortController();
  const failed = new AbortController();
  const ended = endRequested(failed.signal).then(() => stop.abort());
  const run = async (signal: AbortSignal): Promise<void> => {
    const running = await start({ client, log, signal, ca });
    log.info({}, `${name} is running`);
    await running.stopped;
  };
  try {
    if (options.leaderElect) await underLease(run, { client, log, signal: stop.signal, ...election });
    else await run(stop.signal);
  } catch (error) {
    failed.abort();
    client.close();
    setTimeout(() => process.exit(1), endTimeout).unref();
    throw error;
  }
  await ended;
  client.close();
}

/**
 * Runs while this process holds the lease. Throws at once when the lease is lost, though what is being done may hang:
 * another process leads by then, and whoever runs this one starts it again.
 * Upstream: cmd/kube-scheduler/app/server.go, Run (OnStoppedLeading)
 */
async function underLease(
  run: (signal: AbortSignal) => Promise<void>,
  options: Election & Pick<LeaderElectionOptions, "client" | "log" | "signal">,
): Promise<void> {
  const { namespace, name, signal: stop } = options;
  const loss = Promise.withResolvers<never>();
  const lead = async (signal: AbortSignal): Promise<void> => {
    let isOver = false;
    const lose = (): void => {
      if (!isOver && !stop.aborted)
        loss.reject(new Error(`the lease ${namespace}/${name} is lost: start this process again`));
    };
    signal.addEventListener("abort", lose, { once: true });
    try {
      await run(signal);
    } finally {
      isOver = true;
    }
  };
  const leading = leadWithLease({
    ...options,
    clock: systemClock,
    random: Math.random,
    identity: `${hostname()}_${randomUUID()}`,
    lead,
  });
  await Promise.race([leading, loss.promise]);
}

export interface ControllerManagerOptions extends ComponentOptions, ControllerFlags {
  readonly port?: string;
  readonly bindAddress: string;
}

export async function controllerManager(options: ControllerManagerOptions): Promise<void> {
  const features = featuresOption(options);
  const host = bindAddressOption(options.bindAddress);
  const port = options.port === undefined ? undefined : wholeNumber("--port", options.port, 0, 65535);
  const { rootCA, ...given } = await controllerOptions(options);
  const { startControllers } = await import("@dray/controllers");
  let running: Controllers | undefined;
  // Upstream is ready while it waits for the lease.
  const health =
    port === undefined
      ? undefined
      : await serveHealth({
          host,
          port,
          notReady: () => undefined,
          metrics: () => running?.metrics() ?? "",
        });
  if (health !== undefined) say(`metrics and health are at ${health.url}\n`);
  try {
    await component("kube-controller-manager", options, async ({ client, log, signal, ca }) => {
      running = await startControllers({
        client,
        log,
        signal,
        clock: systemClock,
        random: Math.random,
        features,
        ...given,
        rootCA: rootCA ?? ca ?? "",
      });
      return running;
    });
  } finally {
    await health?.close();
  }
}
