import type { Container as ContainerSpec, Node, Pod, ResourceStatus, Service } from "@dray/api/core/v1";
import type { Client, Clock, EventRecorder, Log } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import type { ClusterDns } from "../containers/dns.ts";
import type { ApiServerAddress } from "../containers/service-environment.ts";
import type { DevicePluginManager } from "../device-plugins/manager.ts";
import type { DraManager } from "../dra/manager.ts";
import type { AgentMetrics } from "../metrics/agent-metrics.ts";
import type { Probes } from "../prober/probes.ts";
import type { BoundsOptions } from "../resources/resource-config.ts";
import type { NodeRuntime } from "../runtime/service.ts";
import type { Refusal } from "../types/refusal.ts";
import type { Volumes } from "../volumes/volumes.ts";

/** Dependencies that the workers of all pods share. */
export interface WorkerContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly runtime: NodeRuntime;
  readonly paths: NodePaths;
  readonly volumes: Volumes;
  readonly probes: Probes;
  readonly dra: DraManager;
  readonly devicePlugins: DevicePluginManager;
  /** Health of the devices of a container for `allocatedResourcesStatus`. */
  resourceHealth(pod: Pod, container: ContainerSpec): readonly ResourceStatus[];
  readonly nodeAddress: string;
  /** Maximum number of processes of a pod; undefined for any number. */
  readonly podMaxPids: number | undefined;
  readonly bounds: BoundsOptions;
  /** Statuses have the resources of the pod as a whole (KEP-5419). */
  readonly reportsWholePods: boolean;
  /** A status says at once that a container runs; otherwise when it has run for a moment. */
  readonly reportsStarts: boolean;
  /** Address of the API server for a pod. */
  apiServer(pod: Pod): ApiServerAddress;
  readonly dns: ClusterDns;
  /** Aborts when the agent stops. */
  readonly signal: AbortSignal;
  node(): Node;
  /** Services of all namespaces. */
  services(): readonly Service[];
  /** Port at which a port of a Service is served. */
  servedPort(port: number): number;
  readonly metrics: AgentMetrics;
  /** Brings `node` up to date with the API server. */
  refreshNode(): Promise<unknown>;
  /** The newest object of a pod, which may be newer than the one that a `sync` began with. */
  pod(uid: string): Pod | undefined;
  /** The object in the API that shows a pod: the pod itself, or the mirror of a static one if it exists. */
  apiPod(pod: Pod): Pod | undefined;
  /** Returns why the node does not admit the pod now, regardless of its resources. */
  refusal(pod: Pod): Refusal | undefined;
  /** Checks whether a new pod fits the node. */
  admit(pod: Pod): Refusal | undefined;
  /** Called after each step of the work for a pod, with the name of the step. */
  at(step: string): void;
  /** Has the pod synced again. */
  requeue(uid: string): void;
  requeueAfter(uid: string, milliseconds: number): void;
}
