import { randomUUID } from "node:crypto";
import { featuresOf, parseFeatureGates, parseKubernetesVersion } from "@dray/api";
import type { ApiServer, LoopbackPods } from "@dray/apiserver";
import { type Client, type Clock, type Log, withFields } from "@dray/client";
import type { Store } from "@dray/store";
import { type Credentials, ownRequestHeader } from "../credentials/credentials.ts";
import type { KeptFile } from "../data-dir/config.ts";
import { isLoopback, type ServerAddresses, urlHost } from "../network/address.ts";
import { choosePort } from "../network/port.ts";
import { createClients } from "./clients.ts";
import { serveComponents } from "./component-servers.ts";
import { ensureDefaultStorageClass } from "./default-storage.ts";
import { deviceUsage } from "./device-usage.ts";
import { lackWarnings } from "./lacking.ts";

export interface ControlPlaneOptions {
  readonly store: Store;
  readonly credentials: Credentials;
  readonly kubernetesVersion: string;
  /** Container runtime of the nodes: `host`, `oci` or `cri:SOCKET`. */
  readonly runtime: string;
  /** CIDR of the addresses of Services; the API server's default if absent. */
  readonly serviceRange?: string | undefined;
  /** Services whose addresses are in another range get new ones. */
  readonly renumbersServices?: boolean;
  /** As `--feature-gates` has them. */
  readonly featureGates: string;
  /** The address to listen on. */
  readonly bindAddress: string;
  /** How that is reached: from here, and by others. */
  readonly addresses: Pick<ServerAddresses, "local" | "advertised">;
  /** 0: a free one. */
  readonly port: number;
  /** API versions to serve or not, as `--runtime-config` has them. */
  readonly runtimeConfig?: Readonly<Record<string, boolean>>;
  /** Names of admission plugins that are off by default. */
  readonly enabledAdmissionPlugins?: readonly string[];
  /** A KubeSchedulerConfiguration; its connection and leader election have no effect here. */
  readonly schedulerConfig?: KeptFile | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted during the start: all that has started is stopped, and the start rejects. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The API that `kubectl top` reads: a cluster has it from the beginning, where others install metrics-server.
 */
const metricsApi = "metrics.k8s.io/v1beta1";

/** API server, scheduler and controllers in this process; the store stays the caller's to close. */
export interface ControlPlane {
  readonly server: ApiServer;
  readonly url: string;
  readonly port: number;
  /** As the administrator, in process. */
  readonly admin: Client;
  stop(): Promise<void>;
}

export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { clock, log, credentials, kubernetesVersion, featureGates, schedulerConfig } = options;
  // Loaded here, so that who only needs a layout or credentials does not pay for a control plane.
  const [{ createServer }, { parseSchedulerConfiguration, startScheduler }, { startControllers }] =
    await Promise.all([import("@dray/apiserver"), import("@dray/scheduler"), import("@dray/controllers")]);
  const { bindAddress, addresses, enabledAdmissionPlugins = [] } = options;
  const port = await choosePort(bindAddress, options.port);
  const loopbackPods = options.runtime === "host" ? await podsOfThisMachine() : undefined;
  const newId = (): string => randomUUID();
  const features = featuresOf(parseKubernetesVersion(kubernetesVersion), parseFeatureGates(featureGates));
  const configuration = schedulerConfig && parseSchedulerConfiguration(schedulerConfig.text, features);
  const server = await createServer({
    store: options.store,
    kubernetesVersion,
    featureGates: parseFeatureGates(featureGates),
    clock,
    log: withFields(log, { component: "apiserver" }),
    newId,
    serving: { ...credentials.server, clientAuthority: credentials.authority.certificate },
    serviceAccounts: { key: credentials.serviceAccountKey },
    bootstrapTokens: true,
    creationWarnings: lackWarnings(options.runtime),
    proxyClient: credentials.frontProxyClient,
    requestHeader: ownRequestHeader(credentials),
    kubelet: { ...credentials.kubeletClient, authority: credentials.authority.certificate, onLoopback: true },
    ...(loopbackPods && { loopbackPods }),
    ...(options.serviceRange !== undefined && { serviceRanges: [options.serviceRange] }),
    renumbersServices: options.renumbersServices ?? false,
    advertisedPort: port,
    advertisedAddress: addresses.advertised,
    runtimeConfig: { [metricsApi]: true, ...options.runtimeConfig },
    enabledAdmissionPlugins,
    deviceUsage: await deviceUsage(features, newId, enabledAdmissionPlugins),
  });
  const listener = await server.listen({ host: bindAddress, port });
  const stop = new AbortController();
  const given = options.signal ?? new AbortController().signal;
  const url = `https://${urlHost(addresses.local)}:${listener.port}`;
  const clients = createClients({ server, url, clock, log, elapsed: () => performance.now() });
  const { admin } = clients;
  const component = {
    clock,
    random: Math.random,
    signal: stop.signal,
    features,
  };
  const ofScheduler = clients.component("kube-scheduler");
  const ofControllers = clients.component("kube-controller-manager");
  try {
    const scheduler = await unlessAborted(
      given,
      startScheduler({
        ...component,
        log: ofScheduler.log,
        newId,
        client: ofScheduler.client,
        ...(configuration && { configuration }),
      }),
    );
    const controllers = await unlessAborted(
      given,
      startControllers({
        ...component,
        log: ofControllers.log,
        client: ofControllers.client,
        rootCA: credentials.authority.certificate,
        signing: credentials.authority,
        serviceAccountKey: credentials.serviceAccountKey,
        // As kubeadm has it: nodes may join with bootstrap tokens.
        controllers: ["*", "bootstrap-signer-controller", "token-cleaner-controller"],
      }),
    );
    await unlessAborted(given, ensureDefaultStorageClass(admin, options.store));
    const endpoints = await serveComponents({
      components: [
        { ...ofScheduler, metrics: () => scheduler.metrics() },
        { ...ofControllers, metrics: () => controllers.metrics() },
      ],
      ...{ credentials, clock, log, bindAddress, admin },
      advertisedAddress: addresses.advertised,
      isReached: loopbackPods !== undefined || !isLoopback(addresses.advertised),
    });
    return {
      server,
      url,
      port: listener.port,
      admin,
      async stop() {
        stop.abort();
        await endpoints.close();
        await Promise.all([scheduler.stopped, controllers.stopped]);
        await server.close();
      },
    };
  } catch (error) {
    stop.abort();
    await server.close();
    throw error;
  }
}

/** Pods of the runtime host: processes of this machine, each with an address of 127.0.0.0/8. */
export async function podsOfThisMachine(): Promise<LoopbackPods> {
  const { podPort } = await import("@dray/kubelet/machine");
  return { port: podPort };
}

/** Returns the result of the promise; rejects with the signal's reason once that is aborted. */
async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
    // A start that is given up may still fail.
    promise.catch(() => {});
  }
}
