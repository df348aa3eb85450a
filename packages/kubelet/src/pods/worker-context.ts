import type { Container as ContainerSpec, Node, Pod, ResourceStatus, Service } from "@dray/api/core/v1";
import type { Client, Clock, EventRecorder, Log } from "@dray/client";
import type { NodePaths } from "../base/paths.ts";
import type { ClusterDns } from "../containers/dns.ts";
import type { ApiServerAddress } from "../containers/service-environment.ts";
import type { DevicePluginManager } from "../device-plugins/manager.ts";
import type { DraManager } from "../dra/manager.ts";
import type { Probes } from "../prober/probes.ts";
import type { BoundsOptions } from "../resources/resource-config.ts";
import type { NodeRuntime } from "../runtime/service.ts";
import type { Refusal } from "../types/refusal.ts";
import type { Volumes } from "../volumes/volumes.ts";

/** What the workers of a node share. */
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
  /** The health of the devices of a container, as `allocatedResourcesStatus` has it. */
  resourceHealth(pod: Pod, container: ContainerSpec): readonly ResourceStatus[];
  readonly nodeAddress: string;
  /** How many processes a pod may have; undefined: any number. */
  readonly podMaxPids: number | undefined;
  readonly bounds: BoundsOptions;
  /** The status of pods says what they have as a whole (KEP-5419). */
  readonly reportsWholePods: boolean;
  /** Where a pod finds the API server. */
  apiServer(pod: Pod): ApiServerAddress;
  readonly dns: ClusterDns;
  /** Aborts when the agent stops. */
  readonly signal: AbortSignal;
  node(): Node;
  /** Of all namespaces. */
  services(): readonly Service[];
  /** Brings `node` up to date with the API server. */
  refreshNode(): Promise<unknown>;
  /** The pod as the API server has it now, which may be newer than what a `sync` began with. */
  pod(uid: string): Pod | undefined;
  /** The object in the API that shows a pod: the pod itself, or the mirror of a static one if it is there. */
  apiPod(pod: Pod): Pod | undefined;
  /** Why the node takes no such pod now, whatever room it has. */
  refusal(pod: Pod): Refusal | undefined;
  /** The node's own look at a new pod. */
  admit(pod: Pod): Refusal | undefined;
  /** Called between every two steps of what is done for a pod, with the name of the step that has ended. */
  at(step: string): void;
  /** Has the worker's `sync` called again. */
  requeue(uid: string): void;
  requeueAfter(uid: string, milliseconds: number): void;
}
