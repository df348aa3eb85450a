import type { KubeObject } from "@dray/api";
import type { ApiRequest, ApiResponse, Clock, Log, Transport, UserInfo } from "@dray/client";
import type { Store } from "@dray/store";
import type { DeviceUsage } from "../admission/unique-device-allocation/device-usage.ts";
import type { TokenEntry } from "../authentication/authenticate.ts";
import type { RequestHeader } from "../authentication/request-header.ts";
import type { Certificate } from "../certificates/pki.ts";
import type { PortRange } from "../kinds/core/service/ports.ts";
import type { Listener, ListenOptions } from "../listener/listener.ts";
import type { KubeletClient } from "../proxy/kubelet.ts";
import type { LoopbackPods } from "../proxy/loopback-pods.ts";

export interface ServerOptions {
  /** Stores the objects; `close` of the server leaves it open. */
  readonly store: Store;
  /** `1.36`; the newest supported one if absent. Throws FeatureError for an unsupported one. */
  readonly kubernetesVersion?: string;
  readonly featureGates?: ReadonlyMap<string, boolean>;
  /** `api/all`, `group/version`, `group/version/resource`: on or off. */
  readonly runtimeConfig?: Readonly<Record<string, boolean>>;
  readonly clock?: Clock;
  /**
   * Returns milliseconds of a clock that runs with the work of this process, whatever `clock` says: work that
   * takes long pauses by it.
   */
  readonly elapsed?: () => number;
  readonly log?: Log;
  /** Returns a new UUID. */
  readonly newId?: () => string;
  /** Returns a random number from 0 up to 1. */
  readonly random?: () => number;
  /** Certificates for HTTPS; without them only `handle` and `transport` work. */
  readonly serving?: { readonly certificate: string; readonly key: string; readonly clientAuthority: string };
  readonly serviceAccounts?: {
    /**
     * Private key, PEM. A new one is generated if absent: tokens then become invalid with the end of the
     * process.
     */
    readonly key?: string;
    /** PEM of trusted keys of tokens; that of `key` if absent or empty. */
    readonly verificationKeys?: readonly string[];
    readonly issuer?: string;
    /** URL of the public keys for OpenID Connect discovery; that of this server if absent. */
    readonly jwksUri?: string;
  };
  readonly disabledAdmissionPlugins?: readonly string[];
  /** Plugins that are off by default; all others are always on. */
  readonly enabledAdmissionPlugins?: readonly string[];
  /** Absent: UniqueDeviceAllocation does not check counters and capacity. */
  readonly deviceUsage?: DeviceUsage | undefined;
  /** Static tokens and their users. */
  readonly tokens?: readonly TokenEntry[];
  /** True (the default): requests without credentials have the user system:anonymous. */
  readonly anonymous?: boolean;
  /** How the server connects to kubelets. */
  readonly kubelet?: KubeletClient;
  /**
   * The sum of both is the number of seats that priority levels share. Without API Priority and Fairness they
   * are the maximum numbers of read-only requests and of other requests in flight; 0 means no limit.
   */
  readonly maxRequestsInFlight?: number;
  readonly maxMutatingRequestsInFlight?: number;
  /** API Priority and Fairness (flowcontrol.apiserver.k8s.io) limits the requests: true if absent. */
  readonly priorityAndFairness?: boolean;
  /**
   * Maximum number of logs, commands, forwarded ports and proxied requests in progress; an eighth of the
   * files that this process may open if absent.
   */
  readonly maxPassedOnRequests?: number;
  /** Request timeout in milliseconds, except for watches and other streams; a minute if absent. */
  readonly requestTimeout?: number;
  /**
   * Client certificate for API servers behind this one, which read the user from headers
   * (--proxy-client-cert-file, --proxy-client-key-file). Absent: they see an anonymous client.
   */
  readonly proxyClient?: Certificate;
  /** Front proxies that the server trusts to name the user; none if absent. */
  readonly requestHeader?: RequestHeader;
  /** Port in the service `kubernetes`. */
  readonly advertisedPort?: number;
  /** Warnings for a new object in addition to upstream's, for components that this cluster lacks. */
  readonly creationWarnings?: (group: string, resource: string, object: KubeObject) => readonly string[];
  /** Accepts the bootstrap tokens in Secrets of kube-system; false if absent, as upstream. */
  readonly bootstrapTokens?: boolean;
  /**
   * Address of this server in the endpoints of the service `kubernetes`; absent: the service has no
   * endpoints.
   */
  readonly advertisedAddress?: string;
  /** CIDRs of service addresses: one, or one of each family. 10.0.0.0/24 if absent. */
  readonly serviceRanges?: readonly string[];
  /**
   * Services get addresses of `serviceRanges` at the start if the store has another range: for clusters whose
   * addresses belong to the machine. kube-apiserver keeps the range that a store has.
   */
  readonly renumbersServices?: boolean;
  /** Range of node ports of services; 30000 to 32767 if absent. */
  readonly nodePorts?: PortRange;
  /**
   * Present if pods are processes of this machine. Absent: addresses of 127.0.0.0/8 are refused, as upstream.
   */
  readonly loopbackPods?: LoopbackPods;
}

/** A Kubernetes API server. */
export interface ApiServer {
  /** Handles any request: HTTPS and `transport` are adapters over it. Never rejects. */
  handle(request: ApiRequest): Promise<ApiResponse>;
  /**
   * Returns an in-process connection as this user (with exactly these groups; add `system:authenticated`).
   */
  transport(user: UserInfo): Transport;
  /** Serves HTTPS. Throws without `serving`, rejects if the port is in use. */
  listen(options?: ListenOptions): Promise<Listener>;
  /** Closes all listeners and watches. */
  close(): Promise<void>;
}

/** Port of the server in the service `kubernetes` if `advertisedPort` is absent. */
export const defaultPort = 6443;
