import { randomUUID } from "node:crypto";
import {
  type Features,
  featuresOf,
  type KubeObject,
  minorOf,
  newestKubernetesVersion,
  parseKubernetesVersion,
} from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { ApiRequest, ApiResponse, Clock, Log, Transport, UserInfo } from "@dray/client";
import { silentLog, systemClock } from "@dray/client";
import type { Store } from "@dray/store";
import { Admission } from "../admission/admission.ts";
import type { AdmissionContext } from "../admission/context.ts";
import type { DeviceUsage } from "../admission/device-usage.ts";
import { admissionPlugins } from "../admission/plugins.ts";
import { Aggregator } from "../aggregation/aggregator.ts";
import { Authenticator, type TokenEntry } from "../authentication/authenticate.ts";
import { BootstrapTokens } from "../authentication/bootstrap-token.ts";
import { impersonate } from "../authentication/impersonate.ts";
import type { RequestHeader } from "../authentication/request-header.ts";
import { ServiceAccountTokens } from "../authentication/service-account.ts";
import { TokenSigner } from "../authentication/token.ts";
import { type Attributes, forbiddenError } from "../authorization/attributes.ts";
import { createAuthorizer } from "../authorization/authorizer.ts";
import { Rbac } from "../authorization/rbac.ts";
import { type Certificate, createSigningKey } from "../certificates/pki.ts";
import { AuthenticationInfoKeeper } from "../controllers/authentication-info.ts";
import { bootstrap } from "../controllers/bootstrap.ts";
import { aggregateRoles } from "../controllers/cluster-roles.ts";
import { CustomResources } from "../controllers/custom-resources.ts";
import { type Endpoint, KubernetesService } from "../controllers/kubernetes-service.ts";
import { markUsed } from "../controllers/legacy-tokens.ts";
import { Discovery } from "../discovery/documents.ts";
import { encodeObject } from "../encoding/codec.ts";
import { failureResponse } from "../encoding/failure.ts";
import { notServed } from "../errors/status.ts";
import { answeredWithin, timeLimit } from "../filters/timeout.ts";
import { createRequestControl, type RequestControl } from "../flowcontrol/create.ts";
import { FlowControlObjects, producer } from "../flowcontrol/keep-objects.ts";
import type { RequestNotes, WatchProgress } from "../flowcontrol/limiter.ts";
import type { Context } from "../handlers/context.ts";
import { PlainPaths } from "../handlers/non-resource.ts";
import { route } from "../handlers/route.ts";
import { noPage } from "../http/response.ts";
import { ResourceSet } from "../kinds/resource-set.ts";
import { type ServedResource, servedResources } from "../kinds/resources.ts";
import { type Listener, type ListenOptions, listen } from "../listener/listener.ts";
import { inProcessTransport } from "../listener/transport.ts";
import { healthChecks } from "../observe/health.ts";
import { Metrics } from "../observe/metrics.ts";
import type { KubeletClient } from "../proxy/kubelet.ts";
import { ObjectReader } from "../read/objects.ts";
import { type RequestInfo, requestInfo } from "../request/info.ts";
import { LargeWork } from "../request/large-work.ts";
import { isLongRunning } from "../request/long-running.ts";
import { UsageCollector } from "../resource-metrics/collector.ts";
import { registryPrefix } from "../storage/keys.ts";
import { Storage } from "../storage/storage.ts";
import { deviceSelectors } from "../strategies/selectors.ts";
import { ServiceAllocator } from "../strategies/service/allocator.ts";
import { defaultPortRange, type PortRange } from "../strategies/service/ports.ts";
import { parseRange } from "../strategies/service/ranges.ts";
import { strategyLookup } from "../strategies/strategies.ts";
import { WebhookClient } from "../webhook/client.ts";
import { Checks } from "../write/checks.ts";
import { ManagedFields } from "../write/managed-fields.ts";
import { OwnObjects } from "../write/own-objects.ts";
import { Registry } from "../write/registry.ts";

export interface ServerOptions {
  /** Where the objects are; `close` of the server leaves it open. */
  readonly store: Store;
  /** `1.36`; the newest that we know if absent. Throws FeatureError for another. */
  readonly kubernetesVersion?: string;
  readonly featureGates?: ReadonlyMap<string, boolean>;
  /** `api/all`, `group/version`, `group/version/resource`: on or off. */
  readonly runtimeConfig?: Readonly<Record<string, boolean>>;
  readonly clock?: Clock;
  readonly log?: Log;
  /** A new UUID at each call. */
  readonly newId?: () => string;
  /** What HTTPS needs; without it only `handle` and `transport` work. */
  readonly serving?: { readonly certificate: string; readonly key: string; readonly clientAuthority: string };
  readonly serviceAccounts?: {
    /** Private key, PEM. A new one is made if absent: tokens then end with the process. */
    readonly key?: string;
    /** PEM of keys whose tokens are believed; that of `key` if absent or empty. */
    readonly verificationKeys?: readonly string[];
    readonly issuer?: string;
    /** URL of the public keys, as OpenID Connect discovery names it; that of this server if absent. */
    readonly jwksUri?: string;
  };
  readonly disabledAdmissionPlugins?: readonly string[];
  /** Of the plugins that are off by default; others are on anyway. */
  readonly enabledAdmissionPlugins?: readonly string[];
  /** Without it UniqueDeviceAllocation adds up no counters and no capacity. */
  readonly deviceUsage?: DeviceUsage | undefined;
  /** Static tokens and who has them. */
  readonly tokens?: readonly TokenEntry[];
  /** True (the default): who has no credentials is system:anonymous. */
  readonly anonymous?: boolean;
  /** How the server connects to kubelets. */
  readonly kubelet?: KubeletClient;
  /**
   * The sum of both is the number of seats that priority levels share. Without API Priority and Fairness they limit the
   * requests that only read, and the others, that are worked on at the same time; 0 is no limit.
   */
  readonly maxRequestsInFlight?: number;
  readonly maxMutatingRequestsInFlight?: number;
  /** API Priority and Fairness (flowcontrol.apiserver.k8s.io) limits the requests: true if absent. */
  readonly priorityAndFairness?: boolean;
  /** Milliseconds that a request may take, watches and other streams aside; a minute if absent. */
  readonly requestTimeout?: number;
  /**
   * What the server shows API servers behind it, which take the user's name from its headers
   * (--proxy-client-cert-file, --proxy-client-key-file). Without it they take the server for an anonymous client.
   */
  readonly proxyClient?: Certificate;
  /** Front proxies whose word the server takes for who the user is; none if absent. */
  readonly requestHeader?: RequestHeader;
  /** Port that the service `kubernetes` names. */
  readonly advertisedPort?: number;
  /** Warnings for a new object beside upstream's, for parts that this cluster lacks. */
  readonly creationWarnings?: (group: string, resource: string, object: KubeObject) => readonly string[];
  /** Believes the bootstrap tokens in Secrets of kube-system; not if absent, as upstream. */
  readonly bootstrapTokens?: boolean;
  /** Address at which the service `kubernetes` finds this server; without it the service has no endpoints. */
  readonly advertisedAddress?: string;
  /** CIDRs that services get their addresses from: one, or one of each family. 10.0.0.0/24 if absent. */
  readonly serviceRanges?: readonly string[];
  /** Ports that services may have on the nodes; 30000 to 32767 if absent. */
  readonly nodePorts?: PortRange;
}

/** A Kubernetes API server. */
export interface ApiServer {
  /** The whole server: HTTPS and `transport` are adapters over it. Never rejects. */
  handle(request: ApiRequest): Promise<ApiResponse>;
  /** A connection in process, as this user (groups as given; add `system:authenticated`). */
  transport(user: UserInfo): Transport;
  /** Serves HTTPS. Throws if `serving` was not given, rejects if the port is taken. */
  listen(options?: ListenOptions): Promise<Listener>;
  /** Ends all listeners and watches. */
  close(): Promise<void>;
}

const defaultLimits = { readOnly: 400, mutating: 200 };
const defaultTimeout = 60_000;
/** Characters of an `Audit-ID` that are kept. */
const longestAuditId = 64;
const defaultPort = 6443;
const defaultServiceRanges = ["10.0.0.0/24"];
const defaultIssuer = "https://kubernetes.default.svc";

/** Starts a server on a store: reads what is there, adds what every cluster begins with. */
export async function createServer(options: ServerOptions): Promise<ApiServer> {
  const version = parseKubernetesVersion(options.kubernetesVersion ?? newestKubernetesVersion);
  const features = featuresOf(version, options.featureGates);
  const clock = options.clock ?? systemClock;
  const log = options.log ?? silentLog;
  const newId = options.newId ?? (() => globalThis.crypto.randomUUID());
  const ranges = (options.serviceRanges ?? defaultServiceRanges).map((cidr) => {
    const range = parseRange(cidr);
    if (range === undefined) throw new TypeError(`${cidr} is no CIDR`);
    return range;
  });
  const families = ranges.map(({ family }) => family);
  const ports = options.nodePorts ?? defaultPortRange;
  const storage = new Storage(options.store, clock, log, encodeObject);
  const allocator = new ServiceAllocator({ storage, families, nodePorts: ports, random: Math.random });
  await storage.start();
  const issuer = options.serviceAccounts?.issuer ?? defaultIssuer;
  const { key = await createSigningKey(), verificationKeys } = options.serviceAccounts ?? {};
  const signer = new TokenSigner(key, verificationKeys);
  const tokens = new ServiceAccountTokens(signer, issuer, storage, clock, newId);
  const server = new Server(options, features, clock, log, newId, storage, allocator, tokens);
  const { advertisedAddress: address, advertisedPort: port = defaultPort } = options;
  await server.bootstrap({ ranges, port, ...(address === undefined ? {} : { address }) });
  return server;
}

class Server implements ApiServer {
  readonly #options: ServerOptions;
  readonly #features: Features;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #storage: Storage;
  readonly #allocator: ServiceAllocator;
  readonly #tokens: ServiceAccountTokens;
  readonly #authenticator: Authenticator;
  readonly #authorize: ReturnType<typeof createAuthorizer>;
  readonly #rbac: Rbac;
  readonly #registry: Registry;
  readonly #webhooks: WebhookClient;
  readonly #resources: ResourceSet;
  readonly #usage: UsageCollector;
  readonly #customResources: CustomResources;
  readonly #own: OwnObjects;
  readonly #aggregator: Aggregator;
  readonly #authenticationInfo: AuthenticationInfoKeeper;
  readonly #discovery: Discovery;
  readonly #plainPaths: PlainPaths;
  readonly #metrics = new Metrics();
  readonly #control: RequestControl;
  readonly #largeWork = new LargeWork();
  readonly #constrainedImpersonation: boolean;
  readonly #listeners: Listener[] = [];
  readonly #stop = new AbortController();

  constructor(
    options: ServerOptions,
    features: Features,
    clock: Clock,
    log: Log,
    newId: () => string,
    storage: Storage,
    allocator: ServiceAllocator,
    tokens: ServiceAccountTokens,
  ) {
    this.#options = options;
    this.#features = features;
    this.#clock = clock;
    this.#log = log;
    this.#storage = storage;
    this.#allocator = allocator;
    this.#tokens = tokens;
    this.#authenticator = new Authenticator({
      tokens: options.tokens ?? [],
      serviceAccounts: tokens,
      ...(options.bootstrapTokens && { bootstrapTokens: new BootstrapTokens(storage, clock) }),
      audiences: [tokens.issuer],
      allowAnonymous: options.anonymous ?? true,
    });
    this.#webhooks = new WebhookClient(storage, clock);
    this.#constrainedImpersonation = minorOf(features.version) >= 36;
    this.#control = createRequestControl({
      storage,
      clock,
      log,
      limits: {
        readOnly: options.maxRequestsInFlight ?? defaultLimits.readOnly,
        mutating: options.maxMutatingRequestsInFlight ?? defaultLimits.mutating,
      },
      isEnabled: options.priorityAndFairness ?? true,
      servedBy: (info) => this.#servedBy(info),
      send: (request) => this.handle(request),
      signal: this.#stop.signal,
    });
    this.#rbac = new Rbac(storage);
    this.#authorize = createAuthorizer(storage, this.#rbac, features);
    this.#resources = new ResourceSet(servedResources(features, options.runtimeConfig));
    const admission: AdmissionContext = {
      storage,
      features,
      rbac: this.#rbac,
      authorize: this.#authorize,
      now: () => clock.now(),
      after: (milliseconds, run) => clock.after(milliseconds, run),
      newId,
      resources: this.#resources.list,
      reader: new ObjectReader(storage, features, clock),
      storeStatus: (served, object) => this.#own.storeStatus(served, object),
      deviceUsage: options.deviceUsage,
      webhooks: this.#webhooks,
    };
    const plugins = admissionPlugins(admission, options.enabledAdmissionPlugins);
    this.#registry = new Registry({
      storage,
      features,
      clock,
      newId,
      admission: new Admission(plugins, options.disabledAdmissionPlugins),
      managers: new ManagedFields(this.#resources.list),
      checks: new Checks(features, storage, deviceSelectors(features), options.creationWarnings),
      authorize: this.#authorize,
      strategyOf: strategyLookup(allocator),
    });
    this.#usage = new UsageCollector({
      clock,
      log,
      kubelet: options.kubelet ?? {},
      *nodes() {
        for (const { object } of storage.cache("nodes").range(`${registryPrefix}nodes/`))
          yield object as Node;
      },
    });
    this.#customResources = new CustomResources(this.#registry, this.#resources, this.#webhooks, clock, log);
    tokens.legacyUsed = (secret) => {
      markUsed(this.#registry, this.#resources.list, secret).catch((error: unknown) =>
        log.warn({ error }, "the use of a secret's token could not be noted"),
      );
    };
    this.#own = new OwnObjects(this.#registry, servedResources(this.#features));
    this.#aggregator = new Aggregator({
      own: this.#own,
      storage,
      resources: this.#resources.list,
      proxyClient: options.proxyClient,
      clock,
      log,
    });
    const { requestHeader, serving } = options;
    const info = { clientAuthority: serving?.clientAuthority, requestHeader };
    this.#authenticationInfo = new AuthenticationInfoKeeper(this.#own, info, clock, log);
    this.#discovery = new Discovery(this.#resources, this.#aggregator.remote);
    this.#plainPaths = new PlainPaths({
      discovery: this.#discovery,
      release: features.version,
      clock,
      health: healthChecks(storage, () => this.#stop.signal.aborted),
      tokens,
      jwksUri: options.serviceAccounts?.jwksUri,
      metrics: () => this.#metrics.text(storage, this.#control.limiter, log),
      dump: this.#control.dump,
      address: hostPort(options.advertisedAddress ?? "127.0.0.1", options.advertisedPort ?? defaultPort),
    });
  }

  async bootstrap(endpoint: Endpoint): Promise<void> {
    aggregateRoles(this.#registry, this.#resources.list, this.#log);
    await this.#customResources.start();
    const resources = servedResources(this.#features);
    const flowControl = new FlowControlObjects(new OwnObjects(this.#registry, resources, producer));
    const service = new KubernetesService({
      own: this.#own,
      storage: this.#storage,
      allocator: this.#allocator,
      endpoint,
    });
    // Writes of one turn share one durable commit.
    await Promise.all([
      service.prepare(),
      bootstrap(this.#registry, this.#resources.list, this.#features),
      flowControl.ensure(),
      this.#aggregator.start(),
    ]);
    await Promise.all([service.start(), this.#authenticationInfo.start(this.#storage)]);
    this.#storage.bootstrapped();
    service.keep(this.#clock, this.#log, this.#stop.signal);
    flowControl.keep(this.#clock, this.#log, this.#stop.signal);
    this.#control.start();
  }

  transport(user: UserInfo): Transport {
    return inProcessTransport(
      (request) => this.handle(request),
      user,
      () => this.#stop.signal.aborted,
    );
  }

  async listen(options: ListenOptions = {}): Promise<Listener> {
    if (!this.#options.serving) {
      throw new TypeError("this API server has no serving certificate: give `serving` to createServer");
    }
    const listener = await listen(
      { handle: (request) => this.handle(request), refusal: (head) => this.#refusal(head) },
      { ...this.#options.serving, requestHeader: this.#options.requestHeader },
      options,
      this.#clock,
      this.#log,
    );
    this.#listeners.push(listener);
    return listener;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#control.limiter.close();
    await Promise.all(this.#listeners.map((listener) => listener.close()));
    this.#webhooks.close();
    await Promise.all([
      this.#customResources.close(),
      this.#aggregator.close(),
      this.#authenticationInfo.close(),
    ]);
    await this.#storage.close();
  }

  async handle(request: ApiRequest): Promise<ApiResponse> {
    const began = this.#clock.now();
    const notes: RequestNotes = { warnings: new Set() };
    let info: RequestInfo | undefined;
    let response: ApiResponse;
    try {
      info = requestInfo(request.method, request.url);
      response = await this.#limited(request, info, notes);
    } catch (error) {
      response = failureResponse(request, error, notes.warnings, this.#log);
    }
    const served = info && this.#servedBy(info);
    this.#metrics.count(request.method, info, served, response.status, this.#clock.now() - began);
    return this.#audited(request, response, notes);
  }

  /**
   * Every answer names its request, as the client does that gives it a name (`Audit-ID`), and what it was classified as. In
   * process nobody looks at either.
   */
  #audited(request: ApiRequest, response: ApiResponse, { flow }: RequestNotes): ApiResponse {
    if (request.credential.type === "user") return response;
    const id = request.headers["audit-id"]?.slice(0, longestAuditId) || randomUUID();
    const headers: Record<string, string | readonly string[]> = { "audit-id": id, ...response.headers };
    if (flow !== undefined) {
      headers["x-kubernetes-pf-flowschema-uid"] = flow.uid;
      headers["x-kubernetes-pf-prioritylevel-uid"] = flow.level.uid;
    }
    return { ...response, headers };
  }

  #limited(request: ApiRequest, info: RequestInfo, notes: RequestNotes): Promise<ApiResponse> {
    const longest = this.#options.requestTimeout ?? defaultTimeout;
    if (isLongRunning(info)) return this.#answer(this.#joined(request), info, notes, longest);
    const limit = timeLimit(info.query, longest);
    return answeredWithin(this.#clock, limit, request, (timed) => this.#answer(timed, info, notes, limit));
  }

  /** A request that may last also ends when the server does. */
  #joined(request: ApiRequest): ApiRequest {
    return endsWith(request, this.#stop.signal);
  }

  async #answer(
    request: ApiRequest,
    info: RequestInfo,
    notes: RequestNotes,
    limit: number,
  ): Promise<ApiResponse> {
    const user = this.#userOf(request, info);
    return this.#control.limiter.run({ request, info, user, notes, limit }, async (watch) => {
      const answer = await this.#serve(request, info, user, notes.warnings, watch);
      // In process nobody asks for bytes.
      if (!isLongRunning(info) && request.credential.type !== "user")
        await this.#largeWork.answer(answer, () => request.signal);
      return answer;
    });
  }

  #userOf(request: ApiRequest, info: RequestInfo): UserInfo {
    const sender = this.#authenticator.authenticate(request.credential);
    const wanted = attributesOf(sender, info);
    return impersonate(wanted, request, this.#authorize, this.#constrainedImpersonation);
  }

  /** The answer to who may not send such a request, whatever its body is. */
  #refusal(head: ApiRequest): ApiResponse | undefined {
    try {
      const info = requestInfo(head.method, head.url);
      this.#checkAuthorized(head, this.#userOf(head, info), info);
      return undefined;
    } catch (error) {
      return failureResponse(head, error, new Set(), this.#log);
    }
  }

  async #serve(
    request: ApiRequest,
    info: RequestInfo,
    user: UserInfo,
    warnings: Set<string>,
    watch: WatchProgress | undefined,
  ): Promise<ApiResponse> {
    this.#checkAuthorized(request, user, info);
    // The router takes a path as it came.
    if (info.path.startsWith("//")) return noPage();
    const remote = this.#aggregator.answer(request, info, user);
    if (remote !== undefined) return remote;
    if (!info.isResource) return this.#plainPaths.response(request, info);
    const served = this.#servedBy(info);
    if (served === undefined) {
      // What is in no group of the server's own is no path at all.
      const versions = this.#discovery.groups.get(info.group) ?? [];
      const own = versions.some(({ resources }) => resources.some(({ model }) => model === undefined));
      if (own) throw notServed();
      return noPage();
    }
    const context: Context = {
      request: isLongRunning(info) && served.ended ? endsWith(request, served.ended) : request,
      info,
      user,
      served,
      registry: this.#registry,
      clock: this.#clock,
      log: this.#log,
      authorize: this.#authorize,
      rbac: this.#rbac,
      tokens: this.#tokens,
      authenticator: this.#authenticator,
      resources: this.#resources.byPath,
      kubelet: this.#options.kubelet ?? {},
      usage: this.#usage,
      warnings,
      pause: this.#largeWork.pauseOf(request),
      ...(watch === undefined ? {} : { watch }),
    };
    return route(context);
  }

  #servedBy({ group, version, resource }: RequestInfo): ServedResource | undefined {
    return this.#resources.byPath.get(`${group}/${version}/${resource}`);
  }

  #checkAuthorized(request: ApiRequest, user: UserInfo, info: RequestInfo): void {
    const attributes = attributesOf(user, info);
    const decision = this.#authorize(attributes);
    if (decision.allowed) return;
    this.#log.debug({ user: user.name, method: request.method, url: request.url }, "forbidden");
    throw forbiddenError(attributes, decision.reason);
  }
}

/** What a request asks to be allowed. */
function attributesOf(user: UserInfo, info: RequestInfo): Attributes {
  const { verb, isResource, group, version, resource, subresource, namespace, name, path, query } = info;
  return {
    user,
    verb,
    isResource,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
    path,
    // The old way to watch does not keep to selectors everywhere: they grant nothing there.
    fieldSelector: info.legacyWatch ? "" : (query.get("fieldSelector") ?? ""),
  };
}

/** An IPv6 address stands in brackets before a port. */
const hostPort = (address: string, port: number): string =>
  `${address.includes(":") ? `[${address}]` : address}:${port}`;

/** 36 of `1.36`. */

/** A request that also ends with something else. */
function endsWith(request: ApiRequest, end: AbortSignal): ApiRequest {
  return { ...request, signal: AbortSignal.any([request.signal, end]) };
}
