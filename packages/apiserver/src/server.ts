import {
  type Features,
  featuresOf,
  newestKubernetesVersion,
  parseKubernetesVersion,
  StatusError,
} from "@dray/api";
import type { ApiRequest, ApiResponse, Clock, Log, Transport, UserInfo } from "@dray/client";
import { silentLog, systemClock } from "@dray/client";
import type { Store } from "@dray/store";
import { Admission } from "./admission/admission.ts";
import { admissionPlugins } from "./admission/plugins.ts";
import { Authenticator, type TokenEntry } from "./authentication/authenticate.ts";
import { impersonate } from "./authentication/impersonate.ts";
import { ServiceAccountTokens } from "./authentication/service-account.ts";
import { TokenSigner } from "./authentication/token.ts";
import { type Attributes, denialText } from "./authorization/attributes.ts";
import { createAuthorizer } from "./authorization/authorizer.ts";
import { Rbac } from "./authorization/rbac.ts";
import { aggregateRoles } from "./bootstrap/aggregation.ts";
import { bootstrap } from "./bootstrap/bootstrap.ts";
import { encodeJSON } from "./codec.ts";
import { Discovery } from "./discovery/documents.ts";
import { discoveryResponse } from "./discovery/handler.ts";
import { OpenAPI } from "./discovery/openapi.ts";
import type { Context } from "./handlers/context.ts";
import { headersOf } from "./handlers/context.ts";
import { route } from "./handlers/route.ts";
import { healthResponse } from "./health.ts";
import type { KubeletClient } from "./kubelet.ts";
import { type Listener, type ListenOptions, listen } from "./listener.ts";
import { Metrics } from "./metrics.ts";
import { createSigningKey } from "./pki.ts";
import { Checks } from "./registry/checks.ts";
import { type ServedResource, servedResources } from "./registry/kinds.ts";
import { ManagedFields } from "./registry/managed-fields.ts";
import { Registry } from "./registry/registry.ts";
import { deviceSelectors } from "./registry/selectors.ts";
import { apiServiceAddress } from "./registry/services.ts";
import { encoded, noForms } from "./representation.ts";
import { negotiate } from "./request/accept.ts";
import { BadPath, type RequestInfo, requestInfo } from "./request/info.ts";
import {
  bodyResponse,
  genericError,
  methodNotAllowed,
  notServed,
  qualified,
  statusObject,
  textResponse,
} from "./response.ts";
import { Storage } from "./storage/storage.ts";
import { inProcessTransport } from "./transport.ts";
import { versionInfo } from "./version.ts";

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
    readonly issuer?: string;
  };
  readonly disabledAdmissionPlugins?: readonly string[];
  /** Static tokens and who has them. */
  readonly tokens?: readonly TokenEntry[];
  /** True (the default): who has no credentials is system:anonymous. */
  readonly anonymous?: boolean;
  /** How the server shows itself to kubelets. */
  readonly kubelet?: KubeletClient;
  /** Port that the service `kubernetes` names. */
  readonly advertisedPort?: number;
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

const defaultIssuer = "https://kubernetes.default.svc";

/** Starts a server on a store: reads what is there, adds what every cluster begins with. */
export async function createServer(options: ServerOptions): Promise<ApiServer> {
  const version = parseKubernetesVersion(options.kubernetesVersion ?? newestKubernetesVersion);
  const features = featuresOf(version, options.featureGates);
  const clock = options.clock ?? systemClock;
  const log = options.log ?? silentLog;
  const newId = options.newId ?? (() => globalThis.crypto.randomUUID());
  const storage = new Storage(options.store, clock, log, encodeJSON);
  await storage.start();
  const issuer = options.serviceAccounts?.issuer ?? defaultIssuer;
  const signer = new TokenSigner(options.serviceAccounts?.key ?? (await createSigningKey()));
  const tokens = new ServiceAccountTokens(signer, issuer, storage, clock, newId);
  const server = new Server(options, features, clock, log, newId, storage, tokens);
  await server.bootstrap(options.advertisedPort ?? 6443);
  return server;
}

class Server implements ApiServer {
  readonly #options: ServerOptions;
  readonly #features: Features;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #storage: Storage;
  readonly #tokens: ServiceAccountTokens;
  readonly #authenticator: Authenticator;
  readonly #authorize: ReturnType<typeof createAuthorizer>;
  readonly #rbac: Rbac;
  readonly #registry: Registry;
  readonly #resources: readonly ServedResource[];
  /** By `group/version/resource`. */
  readonly #byPath: ReadonlyMap<string, ServedResource>;
  readonly #discovery: Discovery;
  readonly #openAPI: OpenAPI;
  readonly #metrics = new Metrics();
  readonly #listeners: Listener[] = [];
  readonly #stop = new AbortController();

  constructor(
    options: ServerOptions,
    features: Features,
    clock: Clock,
    log: Log,
    newId: () => string,
    storage: Storage,
    tokens: ServiceAccountTokens,
  ) {
    this.#options = options;
    this.#features = features;
    this.#clock = clock;
    this.#log = log;
    this.#storage = storage;
    this.#tokens = tokens;
    this.#authenticator = new Authenticator({
      tokens: options.tokens ?? [],
      serviceAccounts: tokens,
      audiences: [tokens.issuer],
      allowAnonymous: options.anonymous ?? true,
    });
    this.#rbac = new Rbac(storage);
    this.#authorize = createAuthorizer(storage, this.#rbac);
    this.#resources = servedResources(features, options.runtimeConfig);
    this.#byPath = new Map(
      this.#resources.map((row) => [`${row.group}/${row.version}/${row.resource}`, row]),
    );
    const plugins = admissionPlugins({
      storage,
      features,
      rbac: this.#rbac,
      authorize: this.#authorize,
      now: () => clock.now(),
      newId,
    });
    this.#registry = new Registry(
      storage,
      features,
      clock,
      newId,
      new Admission(plugins, options.disabledAdmissionPlugins),
      new ManagedFields(this.#resources),
      new Checks(features, storage, deviceSelectors(features)),
      this.#authorize,
    );
    this.#discovery = new Discovery(this.#resources);
    this.#openAPI = new OpenAPI(this.#discovery, features.version);
  }

  async bootstrap(port: number): Promise<void> {
    aggregateRoles(this.#registry, this.#resources, this.#log);
    await bootstrap(this.#registry, this.#resources, { clusterIP: apiServiceAddress, port });
    this.#storage.forgetHistory();
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
      (request) => this.handle(request),
      this.#options.serving,
      options,
      this.#log,
    );
    this.#listeners.push(listener);
    return listener;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#listeners.map((listener) => listener.close()));
    await this.#storage.close();
  }

  async handle(request: ApiRequest): Promise<ApiResponse> {
    const began = this.#clock.now();
    const warnings: string[] = [];
    let info: RequestInfo | undefined;
    let response: ApiResponse;
    try {
      info = requestInfo(request.method, request.url);
      response = await this.#answer(lasting(info) ? this.#joined(request) : request, info, warnings);
    } catch (error) {
      response = this.#failure(request, error, warnings);
    }
    this.#metrics.count(request.method, info, response.status, this.#clock.now() - began);
    return response;
  }

  /** A request that may last also ends when the server does. */
  #joined(request: ApiRequest): ApiRequest {
    return { ...request, signal: AbortSignal.any([request.signal, this.#stop.signal]) };
  }

  async #answer(request: ApiRequest, info: RequestInfo, warnings: string[]): Promise<ApiResponse> {
    const sender = this.#authenticator.authenticate(request.credential);
    const user = impersonate(sender, request.headers, this.#authorize);
    this.#checkAuthorized(request, user, info);
    if (!info.isResource) return this.#plainPath(request, info);
    const served = this.#byPath.get(`${info.group}/${info.version}/${info.resource}`);
    if (served === undefined) throw notServed();
    const known = info.subresource === "" || served.subresources.has(info.subresource);
    if (served.deprecation !== undefined && known) warnings.push(served.deprecation);
    const context: Context = {
      request,
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
      resources: this.#byPath,
      ...(this.#options.kubelet ? { kubelet: this.#options.kubelet } : {}),
      warnings,
    };
    return route(context);
  }

  #checkAuthorized(request: ApiRequest, user: UserInfo, info: RequestInfo): void {
    const attributes: Attributes = {
      user,
      verb: info.verb,
      isResource: info.isResource,
      group: info.group,
      version: info.version,
      resource: info.resource,
      subresource: info.subresource,
      namespace: info.namespace,
      name: info.name,
      path: info.path,
      fieldSelector: info.query.get("fieldSelector") ?? "",
    };
    const decision = this.#authorize(attributes);
    if (decision.allowed) return;
    this.#log.debug({ user: user.name, method: request.method, url: request.url }, "forbidden");
    const text = denialText(attributes, decision.reason);
    if (!info.isResource) throw genericError("Forbidden", `forbidden: ${text}`);
    const subject = info.name === "" ? qualified(info) : `${qualified(info)} ${JSON.stringify(info.name)}`;
    throw StatusError.of("Forbidden", `${subject} is forbidden: ${text}`, {
      ...(info.name === "" ? {} : { name: info.name }),
      ...(info.group === "" ? {} : { group: info.group }),
      kind: info.resource,
    });
  }

  async #plainPath(request: ApiRequest, info: RequestInfo): Promise<ApiResponse> {
    const path = info.path.length > 1 ? info.path.replace(/\/$/, "") : info.path;
    const health = healthResponse(path, info.query, this.#checks);
    if (health) return health;
    if (path === "/version") {
      if (request.method !== "GET") throw methodNotAllowed();
      return encoded(200, versionInfo(this.#features.version), {
        mediaType: "application/json",
        pretty: false,
      });
    }
    const discovered = discoveryResponse(request, path, this.#discovery);
    if (discovered) return discovered;
    const openAPI = await this.#openAPI.response(request, path);
    if (openAPI) return openAPI;
    if (path === "/metrics") return textResponse(200, this.#metrics.text(this.#storage));
    if (path === "/" || path === "/index.html") {
      return encoded(200, { paths: this.#paths() }, { mediaType: "application/json", pretty: false });
    }
    if (path.startsWith("/apis/") || path.startsWith("/api/")) throw notServed();
    return textResponse(404, "404 page not found\n");
  }

  #paths(): string[] {
    const groups = [...this.#discovery.groups].flatMap(([group, versions]) =>
      group === ""
        ? ["/api", ...versions.map(({ version }) => `/api/${version}`)]
        : [`/apis/${group}`, ...versions.map(({ version }) => `/apis/${group}/${version}`)],
    );
    return [
      ...groups,
      "/apis",
      "/healthz",
      "/livez",
      "/metrics",
      "/openapi/v3",
      "/readyz",
      "/version",
    ].sort();
  }

  readonly #checks = [
    { name: "ping", passes: () => true },
    { name: "log", passes: () => true },
    { name: "etcd", passes: () => this.#storage.healthy },
    { name: "poststarthook/rbac/bootstrap-roles", passes: () => true },
    { name: "shutdown", passes: () => !this.#stop.signal.aborted },
  ];

  /** A Status for whatever went wrong. What is no StatusError is a fault of ours: it is logged. */
  #failure(request: ApiRequest, error: unknown, warnings: string[]): ApiResponse {
    let status =
      error instanceof StatusError
        ? error.status
        : error instanceof BadPath
          ? StatusError.of("BadRequest", error.message).status
          : undefined;
    if (status === undefined) {
      this.#log.error({ error, method: request.method, url: request.url }, "a request has failed");
      status = {
        status: "Failure",
        reason: "InternalError",
        message: `Internal error occurred: ${error instanceof Error ? error.message : String(error)}`,
        code: 500,
      };
    }
    const object = Object.freeze(statusObject(status));
    const negotiated = negotiate(request.headers["accept"], noForms);
    const accepted =
      "unknownType" in negotiated ? ({ mediaType: "application/json", pretty: false } as const) : negotiated;
    const retry = status.details?.retryAfterSeconds;
    const headers = {
      ...(retry ? { "retry-after": String(retry) } : {}),
      ...headersOf({ warnings }),
    };
    try {
      return encoded(status.code ?? 500, object, accepted, headers);
    } catch (second) {
      this.#log.error({ error: second }, "a Status could not be encoded");
      return bodyResponse(
        500,
        { "content-type": "application/json" },
        () => `${encodeJSON(object)}\n`,
        object,
      );
    }
  }
}

/** Watches and logs last until somebody ends them. */
function lasting(info: RequestInfo): boolean {
  return info.verb === "watch" || info.subresource === "log";
}
