import { featuresOf, minorOf, newestKubernetesVersion, parseKubernetesVersion } from "@dray/api";
import {
  type ApiRequest,
  type ApiResponse,
  silentLog,
  systemClock,
  type Transport,
  type UserInfo,
} from "@dray/client";
import { ServiceAccountTokens } from "../authentication/service-account.ts";
import { TokenSigner } from "../authentication/token.ts";
import { createSigningKey } from "../certificates/pki.ts";
import { bootstrap } from "../controllers/bootstrap.ts";
import { aggregateRoles } from "../controllers/cluster-roles.ts";
import { type Endpoint, KubernetesService } from "../controllers/kubernetes-service.ts";
import { encodeObject } from "../encoding/codec.ts";
import { Call, type CallHandler } from "../filters/call.ts";
import { buildChain } from "../filters/chain.ts";
import { earlyRefusal } from "../filters/early-refusal.ts";
import { FlowControlObjects, producer } from "../flowcontrol/keep-objects.ts";
import { ServiceAllocator } from "../kinds/core/service/allocator.ts";
import { defaultPortRange } from "../kinds/core/service/ports.ts";
import { type AddressRange, parseRange } from "../kinds/core/service/ranges.ts";
import { servedResources } from "../kinds/resources.ts";
import { type Listener, type ListenOptions, listen } from "../listener/listener.ts";
import { inProcessTransport } from "../listener/transport.ts";
import { type StartStep, Startup } from "../observe/startup.ts";
import { Storage } from "../storage/storage.ts";
import { OwnObjects } from "../write/own-objects.ts";
import { direct } from "./director.ts";
import { type ApiServer, defaultPort, type ServerOptions } from "./options.ts";
import { createParts, type Foundation, type ServerParts } from "./parts.ts";

export type { ApiServer, ServerOptions } from "./options.ts";

const defaultServiceRanges = ["10.0.0.0/24"];
/** Steps of the aggregator, which starts as one. */
const aggregatorSteps = [
  "start-kube-aggregator-informers",
  "apiservice-status-local-available-controller",
  "apiservice-status-remote-available-controller",
  "apiservice-registration-controller",
  "apiservice-discovery-controller",
  "kube-apiserver-autoregistration",
  "autoregister-completion",
  "apiservice-openapi-controller",
  "apiservice-openapiv3-controller",
] as const satisfies readonly StartStep[];
const defaultIssuer = "https://kubernetes.default.svc";

/** Starts a server on a store: loads the objects, and creates those of a new cluster. */
export async function createServer(options: ServerOptions): Promise<ApiServer> {
  const version = parseKubernetesVersion(options.kubernetesVersion ?? newestKubernetesVersion);
  const features = featuresOf(version, options.featureGates);
  const clock = options.clock ?? systemClock;
  const elapsed = options.elapsed ?? (() => performance.now());
  const log = options.log ?? silentLog;
  const newId = options.newId ?? (() => globalThis.crypto.randomUUID());
  const random = options.random ?? Math.random;
  const [range, ...otherRanges] = (options.serviceRanges ?? defaultServiceRanges).map(rangeOf);
  if (range === undefined) throw new TypeError("serviceRanges: at least one range is required");
  const ranges = [range, ...otherRanges] as const;
  const storage = new Storage(options.store, clock, log, encodeObject);
  const allocator = new ServiceAllocator({
    storage,
    families: ranges.map(({ family }) => family),
    nodePorts: options.nodePorts ?? defaultPortRange,
    random,
  });
  const startup = new Startup({
    minor: minorOf(features.version),
    hasFlowControl: options.priorityAndFairness ?? true,
  });
  await storage.start();
  startup.complete("generic-apiserver-start-informers", "storage-readiness");
  const issuer = options.serviceAccounts?.issuer ?? defaultIssuer;
  const { key = await createSigningKey(), verificationKeys } = options.serviceAccounts ?? {};
  const signer = new TokenSigner(key, verificationKeys);
  const tokens = new ServiceAccountTokens({ signer, issuer, storage, clock, newId });
  const server = new Server({
    ...{ options, features, clock, elapsed, log, newId, random },
    ...{ storage, startup, allocator, tokens },
  });
  const {
    advertisedAddress: address,
    advertisedPort: port = defaultPort,
    renumbersServices = false,
  } = options;
  await server.bootstrap({ ranges, port, renumbersServices, ...(address === undefined ? {} : { address }) });
  return server;
}

/** Throws a TypeError for an invalid CIDR. */
function rangeOf(cidr: string): AddressRange {
  const range = parseRange(cidr);
  if (range === undefined) throw new TypeError(`${cidr} is not a CIDR: give one such as 10.0.0.0/24`);
  return range;
}

class Server implements ApiServer {
  readonly #foundation: Foundation;
  readonly #parts: ServerParts;
  readonly #chain: CallHandler;
  readonly #listeners: Listener[] = [];
  readonly #stop = new AbortController();

  constructor(foundation: Omit<Foundation, "signal" | "send">) {
    const send = (request: ApiRequest): Promise<ApiResponse> => this.handle(request);
    this.#foundation = { ...foundation, signal: this.#stop.signal, send };
    this.#parts = createParts(this.#foundation);
    const { filters, director } = this.#parts;
    this.#chain = buildChain(filters, (call) => direct(director, call));
  }

  async bootstrap(endpoint: Endpoint): Promise<void> {
    const { features, clock, log, storage, startup, allocator, signal } = this.#foundation;
    const { registry, resources, own, aggregator, authenticationInfo, control } = this.#parts;
    startup.complete("start-apiserver-admission-initializer");
    aggregateRoles(registry, resources.list, log);
    await this.#parts.customResources.start();
    startup.complete(
      "start-apiextensions-informers",
      "start-apiextensions-controllers",
      "crd-informer-synced",
    );
    const flowControl = new FlowControlObjects(new OwnObjects(registry, servedResources(features), producer));
    const service = new KubernetesService({ own, storage, allocator, endpoint });
    // Writes of one turn of the event loop share one durable commit.
    await Promise.all([
      service.prepare().then(() => startup.complete("start-kubernetes-service-cidr-controller")),
      bootstrap(registry, resources.list, features).then(() =>
        startup.complete(
          "start-system-namespaces-controller",
          "start-legacy-token-tracking-controller",
          "rbac/bootstrap-roles",
          "scheduling/bootstrap-system-priority-classes",
        ),
      ),
      flowControl.ensure().then(() => startup.complete("priority-and-fairness-config-producer")),
      aggregator.start().then(() => startup.complete(...aggregatorSteps)),
    ]);
    await Promise.all([
      service
        .start()
        .then(() => startup.complete("start-service-ip-repair-controllers", "bootstrap-controller")),
      authenticationInfo
        .start(storage)
        .then(() => startup.complete("start-cluster-authentication-info-controller")),
    ]);
    storage.bootstrapped();
    service.keep(clock, log, signal);
    flowControl.keep(clock, log, signal);
    control.start();
    startup.complete(
      "priority-and-fairness-config-consumer",
      "priority-and-fairness-filter",
      "max-in-flight-filter",
    );
  }

  handle(request: ApiRequest): Promise<ApiResponse> {
    return this.#chain(new Call(request, this.#foundation.clock.now()));
  }

  transport(user: UserInfo): Transport {
    return inProcessTransport(
      (request) => this.handle(request),
      user,
      () => this.#stop.signal.aborted,
    );
  }

  async listen(listenOptions: ListenOptions = {}): Promise<Listener> {
    const { options, clock, log } = this.#foundation;
    const { serving, requestHeader } = options;
    if (!serving) {
      throw new TypeError("this API server has no serving certificate: give `serving` to createServer");
    }
    const handler = {
      handle: (request: ApiRequest) => this.handle(request),
      refusal: (head: ApiRequest) => earlyRefusal(this.#parts.filters, head),
    };
    const listener = await listen({
      handler,
      tls: { ...serving, requestHeader },
      options: listenOptions,
      clock,
      log,
    });
    this.#listeners.push(listener);
    return listener;
  }

  async close(): Promise<void> {
    const { control, webhooks, customResources, aggregator, authenticationInfo } = this.#parts;
    this.#stop.abort();
    control.limiter.close();
    await Promise.all(this.#listeners.map((listener) => listener.close()));
    webhooks.close();
    await Promise.all([customResources.close(), aggregator.close(), authenticationInfo.close()]);
    await this.#foundation.storage.close();
  }
}
