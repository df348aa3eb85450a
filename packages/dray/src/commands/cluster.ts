import type { Features } from "@dray/api";
import { createRestMapper, type DiscoveredKind } from "@dray/client";
import { connect } from "../connect.ts";
import { drayVersion } from "../dray-version.ts";
import { clusterName, type Live, liveVersion, readLive } from "../manifests/live.ts";
import { featuresOption } from "../options.ts";

export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
}

/** A cluster as it is, and the rules by which it goes. */
export interface ReadCluster {
  readonly name: string;
  readonly live: Live;
  /** Where objects live that do not say it. */
  readonly namespace: string;
  readonly features: Features;
  readonly notes: readonly string[];
  /** The kinds that it serves. */
  readonly kinds: readonly DiscoveredKind[];
}

/**
 * Reads the cluster that the flags name, with kubectl's precedence of flags, environment and files. `withKinds`: and
 * which kinds it serves.
 */
export async function readCluster(flags: ClusterFlags, withKinds = false): Promise<ReadCluster> {
  const connection = await connect(flags, `dray/${drayVersion()}`);
  try {
    const name = clusterName(connection);
    const notes: string[] = [];
    let { kubernetesVersion } = flags;
    if (kubernetesVersion === undefined) {
      const { server, rules } = await liveVersion(connection);
      kubernetesVersion = rules;
      if (server !== rules)
        notes.push(
          `${name} is Kubernetes ${server}: the rules of ${rules} are used, the nearest that Dray knows`,
        );
    }
    const features = featuresOption({ ...flags, kubernetesVersion });
    const namespace = flags.namespace ?? connection.namespace;
    const [live, kinds] = await Promise.all([
      readLive(connection, namespace, features),
      withKinds ? createRestMapper(connection.client).kinds() : [],
    ]);
    return { name, live, namespace, features, notes, kinds };
  } finally {
    connection.client.close();
  }
}
