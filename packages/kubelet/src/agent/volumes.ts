import type { Pod } from "@dray/api/core/v1";
import type { PodManager } from "../pods/pod-manager.ts";
import type { PodWorkers } from "../pods/pod-workers.ts";
import { PodCertificates } from "../volumes/pod-certificates.ts";
import { TrustBundles } from "../volumes/trust-bundles.ts";
import { Volumes } from "../volumes/volumes.ts";
import type { AgentContext } from "./context.ts";

/** Volumes of the pods of a node, and the certificates in them. */
export interface NodeVolumes {
  readonly volumes: Volumes;
  readonly certificates: PodCertificates;
}

export function createVolumes(context: AgentContext, pods: PodManager, workers: PodWorkers): NodeVolumes {
  const { client, clock, log, events, features, nodeName, nodeAddress, node, random, newId, signal } =
    context;
  const certificates = new PodCertificates({
    client,
    clock,
    log,
    events,
    features,
    nodeName,
    node: () => node.current,
    pod: (uid) => pods.get(uid),
    random,
    signal,
    changed: (uid) => workers.volumesChanged(uid),
  });
  const trustBundles = new TrustBundles({
    client,
    clock,
    newId,
    features,
    signal,
    changed: () => workers.volumesOfManyChanged(usesTrustBundles),
  });
  const volumes = new Volumes({
    client,
    clock,
    paths: context.paths,
    nodeAddress,
    trustBundles,
    certificates,
    mounted: (...ended) => context.metrics.volumeMounted(...ended),
    node: () => node.current,
    userOfPod: (uid) => context.runtime.userOfPod(uid),
  });
  return { volumes, certificates };
}

function usesTrustBundles({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(({ projected }) =>
    projected?.sources?.some(({ clusterTrustBundle }) => clusterTrustBundle !== undefined),
  );
}
