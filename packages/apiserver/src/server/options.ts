import type { KubeObject } from "@dray/api";
import type { ApiRequest, ApiResponse, Clock, Log, Transport, UserInfo } from "@dray/client";
import type { Store } from "@dray/store";
import type { TokenEntry } from "../authentication/authenticate.ts";
import type { RequestHeader } from "../authentication/request-header.ts";
import type { Certificate } from "../certificates/pki.ts";
import type { PortRange } from "../kinds/core/service/ports.ts";
import type { DeviceUsage } from "../kinds/resource/resource-claim/device-usage.ts";
import type { Listener, ListenOptions } from "../listener/listener.ts";
import type { KubeletClient } from "../proxy/kubelet.ts";

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

/** Port of the server in the service `kubernetes` if `advertisedPort` is absent. */
export const defaultPort = 6443;
