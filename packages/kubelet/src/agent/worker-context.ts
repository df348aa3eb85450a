import type { Node, Pod } from "@dray/api/core/v1";
import { apiServerAddress } from "../containers/service-environment.ts";
import { admit } from "../lifecycle/admission.ts";
import { countsClaims } from "../node/declared-features.ts";
import type { PodManager } from "../pods/pod-manager.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { WorkerContext } from "../pods/worker-context.ts";
import type { Probes } from "../prober/probes.ts";
import type { Refusal } from "../types/refusal.ts";
import type { Volumes } from "../volumes/volumes.ts";
import type { ClusterServices } from "./cluster-services.ts";
import type { AgentContext } from "./context.ts";
import type { Devices } from "./devices.ts";

export interface WorkerParts {
  readonly pods: PodManager;
  readonly workers: PodWorkers;
  readonly devices: Devices;
  readonly volumes: Volumes;
  readonly probes: Probes;
  readonly services: ClusterServices;
  /** Reasons for which the node admits no such pod now. */
  readonly refusals: readonly ((pod: Pod) => Refusal | undefined)[];
}

/** Creates the context that the workers of all pods share. */
export function createWorkerContext(agent: AgentContext, parts: WorkerParts): WorkerContext {
  const { client, clock, log, events, runtime, images, paths, features, node, options } = agent;
  const { pods, workers, devices, volumes, probes, services, refusals } = parts;
  const bounds = { useClaims: countsClaims(features) };
  return {
    client,
    clock,
    log,
    events,
    runtime: { service: runtime, images },
    paths,
    volumes,
    probes,
    dra: devices.dra,
    devicePlugins: devices.plugins,
    resourceHealth: (pod, container) => devices.health(pod, container),
    nodeAddress: agent.nodeAddress,
    podMaxPids: options.podMaxPids,
    bounds,
    reportsWholePods: features.enabled("InPlacePodLevelResourcesVerticalScaling"),
    reportsStarts: features.enabled("PLEGOnDemandRelist"),
    apiServer: ({ spec }) =>
      apiServerAddress({
        direct: options.apiServer,
        leadsServices: services.network !== undefined,
        isolatesNetwork: runtime.isolatesNetwork ?? runtime.nodeNetwork !== undefined,
        machineNetwork: spec.hostNetwork === true && runtime.nodeNetwork === undefined,
        service: services.informer.get({ namespace: "default", name: "kubernetes" }),
      }),
    get dns() {
      return services.dns;
    },
    signal: agent.signal,
    node: () => node.current,
    services: () => services.informer.list(),
    servedPort: (port) => services.servedPort(port),
    refusal: (pod) => firstOf(refusals, pod),
    metrics: agent.metrics,
    refreshNode: () => node.refresh(),
    pod: (uid) => pods.get(uid),
    apiPod: (pod) => pods.apiPod(pod),
    admit: (pod) =>
      admit(
        pod,
        withAllocatable(node.current, (amounts) => devices.plugins.allocatableFor(pod.metadata.uid, amounts)),
        workers.runningPods().filter(({ metadata }) => metadata.uid !== pod.metadata.uid),
        bounds,
      ),
    at: agent.at,
    requeue: (uid) => workers.requeue(uid),
    requeueAfter: (uid, milliseconds) => workers.requeueAfter(uid, milliseconds),
  };
}

function firstOf(refusals: WorkerParts["refusals"], pod: Pod): Refusal | undefined {
  for (const refusal of refusals) {
    const found = refusal(pod);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the node with other allocatable amounts. */
function withAllocatable(
  node: Node,
  change: (amounts: Readonly<Record<string, string>>) => Record<string, string>,
): Node {
  return { ...node, status: { ...node.status, allocatable: change(node.status?.allocatable ?? {}) } };
}
