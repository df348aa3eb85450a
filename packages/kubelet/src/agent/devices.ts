import { join } from "node:path";
import type { Container, Pod, ResourceStatus } from "@dray/api/core/v1";
import { DevicePluginManager } from "../device-plugins/manager.ts";
import { DraManager } from "../dra/manager.ts";
import { DraPlugins } from "../dra/plugins.ts";
import { SliceWiper } from "../dra/slices.ts";
import { PluginWatcher } from "../dra/watcher.ts";
import { PodResourcesServer } from "../pod-resources/server.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import { bootId } from "../runtime/host/processes.ts";
import type { AgentContext } from "./context.ts";

/** Devices of a node: DRA drivers, device plugins, and the API that says which container has which device. */
export interface Devices {
  readonly dra: DraManager;
  readonly plugins: DevicePluginManager;
  readonly podResources: PodResourcesServer;
  /** Health of the devices of a container, as `allocatedResourcesStatus` has it. */
  health(pod: Pod, container: Container): readonly ResourceStatus[];
  /** Serves the sockets of device plugins and of the pod resources API. */
  serve(): Promise<void>;
  /** Watches the ResourceSlices of drivers, and their sockets. */
  watch(): Promise<void>;
  /** All pods of the API are known: devices of others are free. */
  podsKnown(): void;
  close(): Promise<void>;
}

/** Throws if a checkpoint is damaged. */
export function createDevices(context: AgentContext, workers: PodWorkers, nodeChanged: () => void): Devices {
  const { client, clock, log, paths, features, nodeName, at, options } = context;
  const drivers = new DraPlugins(log);
  const requeueAll = (uids: Iterable<string>): void => {
    for (const uid of uids) workers.requeue(uid);
  };
  const dra = new DraManager({
    client,
    plugins: drivers,
    checkpoint: join(paths.kubelet, "dra_manager_state"),
    features,
    clock,
    log,
    released: () => workers.retryAll(),
    healthChanged: requeueAll,
    at,
  });
  drivers.handle({ connected: () => workers.retryAll() });
  let podsKnown = false;
  const { topologyPolicy, wipeDelay } = options;
  const plugins = new DevicePluginManager({
    paths,
    clock,
    log,
    bootId: bootId(),
    ...(topologyPolicy !== undefined && { topologyPolicy }),
    isActive: (uid) => !podsKnown || workers.isLive(uid),
    changed: nodeChanged,
    retry: (uids) => workers.retryStarts(uids),
    healthChanged: requeueAll,
  });
  const wiper = new SliceWiper({
    client,
    clock,
    log,
    nodeName,
    plugins: drivers,
    ...(wipeDelay === undefined ? {} : { wipeDelay }),
  });
  const podResources = new PodResourcesServer({
    directory: join(paths.kubelet, "pod-resources"),
    pods: () => workers.runningPods(),
    claims: dra,
    devices: plugins,
    clock,
    log,
  });
  const watcher = new PluginWatcher({
    directory: paths.pluginsRegistry,
    plugins: drivers,
    devicePlugins: plugins.registryHandler,
    onMachine: (path) => paths.onMachine(path),
    clock,
    log,
  });
  return {
    dra,
    plugins,
    podResources,
    health: (pod, container) =>
      features.enabled("ResourceHealthStatus")
        ? [
            ...plugins.health(pod.metadata.uid, container.name),
            ...dra.allocatedResourcesStatus(pod, container),
          ]
        : [],
    async serve() {
      await plugins.start();
      await podResources.start();
    },
    async watch() {
      await wiper.start();
      watcher.start();
    },
    podsKnown() {
      podsKnown = true;
    },
    async close() {
      watcher.close();
      await plugins.close();
      wiper.close();
      drivers.close();
      await dra.close();
      await podResources.close();
    },
  };
}
