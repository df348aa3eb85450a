import type { Features } from "@dray/api";
import type { Taint } from "@dray/api/core/v1";
import type { Client, ClientMetrics, Clock, Log } from "@dray/client";
import type { ClusterDns } from "../containers/dns.ts";
import type { ApiServerAddress } from "../containers/service-environment.ts";
import type { TopologyPolicy } from "../device-plugins/choice.ts";
import type { EvictionSettings } from "../eviction/manager.ts";
import type { SignalSource } from "../eviction/signals.ts";
import type { ImageGCPolicy } from "../images/policy.ts";
import type { LogLimits } from "../logs/log-rotation.ts";
import type { ShutdownGracePeriods } from "../node/shutdown.ts";
import type { RuntimeFactory } from "../runtime/factory.ts";
import type { ClientLimits } from "../server/client-limits.ts";
import type { Serving } from "../server/server.ts";

export interface KubeletOptions {
  /** Client of the user `system:node:NAME`. */
  readonly client: Client;
  /** Certificate in PEM of `client`, if it has one: the metrics say when it expires. */
  readonly clientCertificate?: string;
  /** Metrics of the requests of `client`, for `/metrics`. */
  readonly clientMetrics?: Pick<ClientMetrics, "text">;
  readonly nodeName: string;
  /**
   * Directory that pods and drivers see as `/` in paths of the node. Short, since paths of sockets lie below
   * it.
   */
  readonly rootDir: string;
  /** Address of the API server for the agent, and for pods without another way to it. */
  readonly apiServer: ApiServerAddress;
  /**
   * Client of the user `system:kube-proxy`, which may read Services and EndpointSlices. With it, on a runtime
   * that makes the network of pods, Services lead to their endpoints.
   */
  readonly servicesClient?: Client;
  /**
   * How pods resolve names. Defaults: the domain `cluster.local`, and the server that the agent runs with
   * `servicesClient`, or else the servers of the machine.
   */
  readonly dns?: Partial<ClusterDns>;
  /** Limits of the logs of containers; by default five files of 10 MiB. */
  readonly logs?: Partial<LogLimits>;
  /** Folder of the manifests of static pods; `etc/kubernetes/manifests` below the root by default. */
  readonly staticPodPath?: string;
  /** Certificates of the node's HTTPS endpoints. */
  readonly serving: Serving;
  /** 127.0.0.1 if absent. */
  readonly nodeAddress?: string;
  /**
   * Address on which the endpoints listen: one of the machine, or a wildcard. `nodeAddress` by default. A
   * node with a network of its own listens on all its addresses.
   */
  readonly address?: string;
  /** Port of the node's HTTPS endpoints; 10250 by default, or any free one where another program has it. */
  readonly port?: number;
  /** Port of `/healthz` over HTTP on 127.0.0.1; not served by default. */
  readonly healthzPort?: number;
  /** Port of metrics and statistics over HTTP, without authentication; not served by default. */
  readonly readOnlyPort?: number;
  /** The runtime of containers. */
  readonly runtime: RuntimeFactory;
  /** Feature gates and release; those of the newest release by default. */
  readonly features?: Features;
  /** When pods are evicted because the node runs out of a resource; never by default. */
  readonly eviction?: EvictionSettings;
  /** When images that no container uses are removed; by default only before pods are evicted. */
  readonly imageGC?: ImageGCPolicy;
  /** Source of what the node has left; the machine by default. */
  readonly signals?: SignalSource;
  /** Periods within which `shutDown` ends pods; without them it leaves pods alone. */
  readonly shutdown?: ShutdownGracePeriods;
  /** Milliseconds that a driver may be away before its ResourceSlices are deleted; 30 s by default. */
  readonly wipeDelay?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Taints of a Node that is created. */
  readonly taints?: readonly Taint[];
  /** Maximum number of processes of a pod; no limit by default. */
  readonly podMaxPids?: number;
  /** Sysctls that pods may set beside the safe ones, such as `kernel.msg*`; none by default. */
  readonly allowedUnsafeSysctls?: readonly string[];
  /** Whether devices of one NUMA node are preferred for a container; `none` by default. */
  readonly topologyPolicy?: TopologyPolicy;
  /** Replaces the capacity of the machine, by resource. */
  readonly capacity?: Readonly<Record<string, string>>;
  /** Limits of the clients of all nodes of this process; by default those of a process with one node. */
  readonly clientLimits?: ClientLimits;
  readonly clock?: Clock;
  readonly log: Log;
  readonly random?: () => number;
  /** Returns a new UUID. */
  readonly newId?: () => string;
  /** Called after each step of the work for a pod, for tests that end the process there. */
  readonly at?: (step: string) => void;
  /** Aborts a start. The start rejects when everything that it began has ended. */
  readonly signal?: AbortSignal;
}

export interface Kubelet {
  readonly nodeName: string;
  /** Port of the node's HTTPS endpoints. */
  readonly port: number;
  /** Lacks of isolation of the runtime on this machine, as text. */
  readonly limits: readonly string[];
  /**
   * Ends all pods by priority, since the machine goes down, within the periods of `KubeletOptions.shutdown`.
   * Afterwards `stop` with `leavePods` is due. Does nothing without these periods.
   */
  shutDown(): Promise<void>;
  /**
   * Stops the agent. With `leavePods`, pods run on, and the next agent on the same root adopts them; without,
   * every container is stopped and every claim unprepared, as far as drivers answer.
   */
  stop(options: { readonly leavePods: boolean }): Promise<void>;
}
