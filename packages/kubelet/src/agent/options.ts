import type { Features } from "@dray/api";
import type { Taint } from "@dray/api/core/v1";
import type { Client, Clock, Log } from "@dray/client";
import type { ClusterDns } from "../containers/dns.ts";
import type { ApiServerAddress } from "../containers/service-environment.ts";
import type { TopologyPolicy } from "../device-plugins/choice.ts";
import type { EvictionSettings } from "../eviction/manager.ts";
import type { SignalSource } from "../eviction/signals.ts";
import type { ImageGCPolicy } from "../images/policy.ts";
import type { LogLimits } from "../logs/log-rotation.ts";
import type { ShutdownGracePeriods } from "../node/shutdown.ts";
import type { RuntimeFactory } from "../runtime/factory.ts";
import type { Serving } from "../server/server.ts";

export interface KubeletOptions {
  /** As `system:node:NAME`. */
  readonly client: Client;
  readonly nodeName: string;
  /** What is `/` for the node's own files: short, since socket paths lie below it. */
  readonly rootDir: string;
  /** By which the agent reaches the API server, and pods where they have no other way. */
  readonly apiServer: ApiServerAddress;
  /**
   * As `system:kube-proxy`, which may read Services and EndpointSlices. With it, and a runtime that makes the network of
   * pods itself, the addresses and names of Services lead to their endpoints.
   */
  readonly servicesClient?: Client;
  /**
   * How pods resolve names, where nothing is said: in the domain `cluster.local`, by the server that the agent runs
   * with `servicesClient`, or else by the machine's servers.
   */
  readonly dns?: Partial<ClusterDns>;
  /** How long the logs of containers grow; five files of 10 MiB where nothing is said. */
  readonly logs?: Partial<LogLimits>;
  /** A folder of manifests of pods that run on this node alone; `etc/kubernetes/manifests` below the root if absent. */
  readonly staticPodPath?: string;
  /** For the node's own HTTPS endpoints. */
  readonly serving: Serving;
  /** 127.0.0.1 if absent. */
  readonly nodeAddress?: string;
  /** Where its endpoints listen: an address of this machine, or one that means all; that of the node if absent. */
  readonly address?: string;
  /** Of the node's endpoints; any free one if absent. */
  readonly port?: number;
  /** Where `/healthz` is served over HTTP on 127.0.0.1; nowhere if absent. */
  readonly healthzPort?: number;
  /** Where metrics and statistics are served over HTTP to everybody who reaches the node; nowhere if absent. */
  readonly readOnlyPort?: number;
  /** What runs the containers. */
  readonly runtime: RuntimeFactory;
  /** Those of the newest release if absent. */
  readonly features?: Features;
  /** When pods are evicted because the node runs out of something; never if absent. */
  readonly eviction?: EvictionSettings;
  /** When images that no container uses are removed; only when pods would have to go if absent. */
  readonly imageGC?: ImageGCPolicy;
  /** What the node has left; that of the machine if absent. */
  readonly signals?: SignalSource;
  /** How long pods may take when `shutDown` is called; without it they are left alone. */
  readonly shutdown?: ShutdownGracePeriods;
  /** Milliseconds that a driver may be away before its ResourceSlices go; 30 s if absent. */
  readonly wipeDelay?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Of a Node that is new. */
  readonly taints?: readonly Taint[];
  /** How many processes a pod may have: any number if absent. */
  readonly podMaxPids?: number;
  /** Sysctls that pods may set beside the safe ones, as `kernel.msg*`: none if absent. */
  readonly allowedUnsafeSysctls?: readonly string[];
  /** Whether device plugins' devices of one NUMA node are chosen together; `none` if absent. */
  readonly topologyPolicy?: TopologyPolicy;
  /** Replaces what the machine has, by resource. */
  readonly capacity?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly log: Log;
  readonly random?: () => number;
  /** Called between every two steps of what is done for pods, for tests that end the process there. */
  readonly at?: (step: string) => void;
  /** Aborted: a start that is under way is given up, and rejects once all that it had begun has ended. */
  readonly signal?: AbortSignal;
}

export interface Kubelet {
  readonly nodeName: string;
  /** Of the node's HTTPS endpoints. */
  readonly port: number;
  /** What its runtime does not keep apart on this machine, in words. */
  readonly limits: readonly string[];
  /**
   * Ends all pods by their priority, because the machine goes down: within the periods of `KubeletOptions.shutdown`,
   * after which `stop` with `leavePods` is due. Does nothing if these are not set.
   */
  shutDown(): Promise<void>;
  /**
   * Stops the agent. With `leavePods` what runs goes on, and the next agent on the same root takes it over;
   * without, every container is stopped and every claim unprepared, as far as drivers answer.
   */
  stop(options: { readonly leavePods: boolean }): Promise<void>;
}
