import { LocalStorage } from "../eviction/local-storage.ts";
import { MachineSignals } from "../eviction/machine-signals.ts";
import { EvictionManager } from "../eviction/manager.ts";
import { podUsages } from "../eviction/usage.ts";
import { ImageCollector } from "../images/collector.ts";
import { defaultImageGCPolicy } from "../images/policy.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import type { Volumes } from "../volumes/volumes.ts";
import type { AgentContext } from "./context.ts";

/** Frees resources of a node: removes images, and evicts pods. */
export interface ResourcePressure {
  readonly images: ImageCollector;
  readonly evictions: EvictionManager;
}

export function createResourcePressure(
  context: AgentContext,
  workers: PodWorkers,
  volumes: Volumes,
  changed: () => void,
): ResourcePressure {
  const { options, clock, log, events, node, nodeName, paths, runtime } = context;
  const signals = options.signals ?? new MachineSignals({ root: paths.root, images: context.images });
  const storage = new LocalStorage({ paths, volumes });
  const images = new ImageCollector({
    images: context.images,
    policy: options.imageGC ?? { ...defaultImageGCPolicy, highThresholdPercent: 100 },
    clock,
    log,
    async fileSystem() {
      const observed = (await signals.observe()).get("imagefs.available");
      return observed && { available: observed.available.value(), capacity: observed.capacity.value() };
    },
    volumeImages: () =>
      workers
        .runningPods()
        .flatMap(({ spec }) => (spec.volumes ?? []).flatMap(({ image }) => image?.reference ?? [])),
    event: (reason, message) => events.event(node.current, "Warning", reason, message),
    changed,
  });
  const evictions = new EvictionManager({
    thresholds: [],
    pressureTransitionPeriod: 0,
    maxPodGracePeriodSeconds: 0,
    ...options.eviction,
    clock,
    log,
    nodeName,
    signals,
    pods: () =>
      workers.running().map(({ pod, end }) => ({
        pod,
        end: (how) => {
          events.event(pod, "Warning", how.reason, how.message);
          return end(how);
        },
      })),
    usage: (running) => podUsages(running, { runtime, paths, volumes }),
    evicted: (signal) => context.metrics.evicted(signal),
    excess: (pod) => storage.excess(pod),
    reclaimImages: () => images.collectAll(),
    event: (type, reason, message) => events.event(node.current, type, reason, message),
    changed,
  });
  return { images, evictions };
}
