import { type Features, minorOf } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import { type ApiRequest, type ApiResponse, type Clock, type Log, ProcessMetrics } from "@dray/client";
import { Budget, shareOfFiles } from "@dray/streams";
import { Admission } from "../admission/admission.ts";
import type { AdmissionContext } from "../admission/context.ts";
import { createAdmissionPlugins } from "../admission/plugins.ts";
import { Aggregator } from "../aggregation/aggregator.ts";
import { Authenticator } from "../authentication/authenticate.ts";
import { BootstrapTokens } from "../authentication/bootstrap-token.ts";
import type { ServiceAccountTokens } from "../authentication/service-account.ts";
import { createAuthorizer } from "../authorization/authorizer.ts";
import { Rbac } from "../authorization/rbac.ts";
import { AuthenticationInfoController } from "../controllers/authentication-info.ts";
import { CustomResources } from "../controllers/custom-resources.ts";
import { markUsed } from "../controllers/legacy-tokens.ts";
import { Discovery } from "../discovery/documents.ts";
import type { FilterParts } from "../filters/parts.ts";
import { createRequestControl, type RequestControl } from "../flowcontrol/create.ts";
import { NonResourcePaths } from "../handlers/non-resource.ts";
import type { ServiceAllocator } from "../kinds/core/service/allocator.ts";
import { strategyLookup } from "../kinds/models.ts";
import { deviceSelectors } from "../kinds/resource/device-selectors.ts";
import { ResourceSet } from "../kinds/resource-set.ts";
import { type ServedResource, servedResources } from "../kinds/resources.ts";
import { healthChecks } from "../observe/checks.ts";
import { Metrics } from "../observe/metrics.ts";
import type { Startup } from "../observe/startup.ts";
import { ObjectReader } from "../read/objects.ts";
import type { RequestInfo } from "../request/info.ts";
import { LargeWork } from "../request/large-work.ts";
import { UsageCollector } from "../resource-metrics/collector.ts";
import { registryPrefix } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";
import { WebhookClient } from "../webhook/client.ts";
import { Checks } from "../write/checks.ts";
import { ManagedFields } from "../write/managed-fields.ts";
import { OwnObjects } from "../write/own-objects.ts";
import { Registry } from "../write/registry.ts";
import type { DirectorParts } from "./director.ts";
import { defaultPort, type ServerOptions } from "./options.ts";

const defaultLimits = { readOnly: 400, mutating: 200 };
/** Request timeout in milliseconds (--request-timeout). */
const defaultRequestTimeout = 60_000;

/** The parts without dependencies, of which all others are built. */
export interface Foundation {
  readonly options: ServerOptions;
  readonly features: Features;
  readonly clock: Clock;
  /** Returns milliseconds of work. */
  readonly elapsed: () => number;
  readonly log: Log;
  /** Returns a new UUID. */
  readonly newId: () => string;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  readonly storage: Storage;
  readonly startup: Startup;
  readonly allocator: ServiceAllocator;
  readonly tokens: ServiceAccountTokens;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
  /** Sends a request to the server itself. */
  readonly send: (request: ApiRequest) => Promise<ApiResponse>;
}

/** Authentication and authorization. */
interface Access {
  readonly rbac: Rbac;
  readonly authorize: ReturnType<typeof createAuthorizer>;
  readonly authenticator: Authenticator;
}

/** All parts of a server that has not been started yet. */
export interface ServerParts {
  readonly registry: Registry;
  readonly resources: ResourceSet;
  /** Writes objects on behalf of the server. */
  readonly own: OwnObjects;
  readonly webhooks: WebhookClient;
  readonly customResources: CustomResources;
  readonly aggregator: Aggregator;
  readonly authenticationInfo: AuthenticationInfoController;
  readonly control: RequestControl;
  readonly filters: FilterParts;
  readonly director: DirectorParts;
}

export function createParts(foundation: Foundation): ServerParts {
  const { options, features, clock, log, storage, tokens } = foundation;
  const access = createAccess(foundation);
  const resources = new ResourceSet(servedResources(features, options.runtimeConfig));
  const servedBy = ({ group, version, resource }: RequestInfo): ServedResource | undefined =>
    resources.byPath.get(`${group}/${version}/${resource}`);
  const webhooks = new WebhookClient({ storage, loopbackPods: options.loopbackPods }, clock);
  const { registry, own } = createRegistry(foundation, access, resources.list, webhooks);
  tokens.legacyUsed = (secret) => {
    markUsed(registry, resources.list, secret).catch((error: unknown) =>
      log.warn({ error }, "the use of a secret's token could not be noted"),
    );
  };
  const control = createControl(foundation, servedBy);
  const metrics = new Metrics();
  const aggregator = new Aggregator({
    own,
    storage,
    loopbackPods: options.loopbackPods,
    resources: resources.list,
    proxyClient: options.proxyClient,
    clock,
    log,
    workQueues: metrics.workQueues,
  });
  const largeWork = new LargeWork(foundation.elapsed);
  const discovery = new Discovery(resources, aggregator.remote);
  const info = { clientAuthority: options.serving?.clientAuthority, requestHeader: options.requestHeader };
  return {
    registry,
    resources,
    own,
    webhooks,
    customResources: new CustomResources({ registry, resources, webhooks, clock, log }),
    aggregator,
    authenticationInfo: new AuthenticationInfoController(own, info, clock, log),
    control,
    filters: filterParts(foundation, { ...access, limiter: control.limiter, largeWork, metrics, servedBy }),
    director: {
      aggregator,
      discovery,
      nonResource: nonResourcePaths(foundation, { discovery, control, metrics }),
      servedBy,
      largeWork,
      handlers: {
        registry,
        clock,
        log,
        random: foundation.random,
        ...access,
        tokens,
        resources: resources.byPath,
        kubelet: options.kubelet ?? {},
        loopbackPods: options.loopbackPods,
        usage: usageCollector(foundation),
      },
    },
  };
}

function createAccess({ options, features, clock, storage, tokens }: Foundation): Access {
  const rbac = new Rbac(storage);
  const authenticator = new Authenticator({
    tokens: options.tokens ?? [],
    serviceAccounts: tokens,
    ...(options.bootstrapTokens && { bootstrapTokens: new BootstrapTokens(storage, clock) }),
    audiences: [tokens.issuer],
    allowAnonymous: options.anonymous ?? true,
  });
  return { rbac, authorize: createAuthorizer(storage, rbac, features), authenticator };
}

function createRegistry(
  { options, features, clock, newId, storage, allocator }: Foundation,
  { rbac, authorize }: Access,
  resources: readonly ServedResource[],
  webhooks: WebhookClient,
): { readonly registry: Registry; readonly own: OwnObjects } {
  const context: AdmissionContext = {
    storage,
    features,
    rbac,
    authorize,
    now: () => clock.now(),
    after: (milliseconds, run) => clock.after(milliseconds, run),
    newId,
    resources,
    reader: new ObjectReader(storage, features, clock),
    // Plugins are created before the registry, which calls them.
    storeStatus: (served, object) => own.storeStatus(served, object),
    deviceUsage: options.deviceUsage,
    webhooks,
  };
  const plugins = createAdmissionPlugins(context, {
    enabled: options.enabledAdmissionPlugins,
    disabled: options.disabledAdmissionPlugins,
  });
  const registry = new Registry({
    storage,
    features,
    clock,
    newId,
    admission: new Admission(plugins),
    managers: new ManagedFields(resources, features.version),
    checks: new Checks(features, storage, deviceSelectors(features), {
      creationWarnings: options.creationWarnings,
      loopbackEndpoints: options.loopbackPods !== undefined,
    }),
    authorize,
    strategyOf: strategyLookup({ serviceAllocator: allocator }),
  });
  const own = new OwnObjects(registry, servedResources(features));
  return { registry, own };
}

function createControl(
  { options, storage, clock, log, send, signal }: Foundation,
  servedBy: FilterParts["servedBy"],
): RequestControl {
  return createRequestControl({
    storage,
    clock,
    log,
    limits: {
      readOnly: options.maxRequestsInFlight ?? defaultLimits.readOnly,
      mutating: options.maxMutatingRequestsInFlight ?? defaultLimits.mutating,
    },
    isEnabled: options.priorityAndFairness ?? true,
    servedBy,
    send,
    signal,
  });
}

function filterParts(
  { options, features, clock, log, newId, signal }: Foundation,
  parts: Pick<FilterParts, "authenticator" | "authorize" | "limiter" | "largeWork" | "metrics" | "servedBy">,
): FilterParts {
  return {
    ...parts,
    clock,
    log,
    newId,
    passedOn: new Budget(options.maxPassedOnRequests ?? shareOfFiles(1 / 8)),
    constrainedImpersonation: minorOf(features.version) >= 36,
    timeout: options.requestTimeout ?? defaultRequestTimeout,
    signal,
  };
}

interface NonResourceSources {
  readonly discovery: Discovery;
  readonly control: RequestControl;
  readonly metrics: Metrics;
}

function nonResourcePaths(
  { options, features, clock, log, storage, startup, tokens, signal }: Foundation,
  { discovery, control, metrics }: NonResourceSources,
): NonResourcePaths {
  const { advertisedAddress = "127.0.0.1", advertisedPort = defaultPort } = options;
  const ofProcess = new ProcessMetrics({ clock, release: features.version });
  return new NonResourcePaths({
    discovery,
    release: features.version,
    clock,
    health: healthChecks({ storage, startup, hasEnded: () => signal.aborted }),
    tokens,
    jwksUri: options.serviceAccounts?.jwksUri,
    metrics: () =>
      `${Metrics.gates(features)}${metrics.text(storage, control.limiter, log)}${ofProcess.text()}`,
    dump: control.dump,
    address: hostPort(advertisedAddress, advertisedPort),
  });
}

function usageCollector({ options, clock, log, storage }: Foundation): UsageCollector {
  return new UsageCollector({
    clock,
    log,
    kubelet: options.kubelet ?? {},
    *nodes() {
      for (const { object } of storage.cache("nodes").range(`${registryPrefix}nodes/`)) yield object as Node;
    },
  });
}

/** Puts an IPv6 address in brackets before a port. */
const hostPort = (address: string, port: number): string =>
  `${address.includes(":") ? `[${address}]` : address}:${port}`;
