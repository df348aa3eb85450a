import type { Features } from "@dray/api";
import { createRestMapper, type DiscoveredKind } from "@dray/client";
import { type Connection, connect } from "../connection/connect.ts";
import { clusterName, type Live, liveVersion, readLive } from "../manifests/live.ts";
import { featuresOption } from "../options/values.ts";
import { drayVersion } from "../process/dray-version.ts";

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

/** A connection to the cluster that the flags name, and the rules by which the cluster goes. */
export interface OpenCluster extends Omit<ReadCluster, "live" | "kinds"> {
  readonly connection: Connection;
}

/**
 * Reads the cluster that the flags name, with kubectl's precedence of flags, environment and files.
 * `withKinds`: and which kinds it serves.
 */
export function readCluster(flags: ClusterFlags, withKinds = false): Promise<ReadCluster> {
  return withCluster(flags, async ({ connection, ...cluster }) => {
    const { namespace, features } = cluster;
    const [live, kinds] = await Promise.all([
      readLive(connection, namespace, features),
      withKinds ? createRestMapper(connection.client).kinds() : [],
    ]);
    return { ...cluster, live, kinds };
  });
}

/**
 * Connects to the cluster that the flags name, asks which release it is, and closes the connection after
 * `use`.
 */
export async function withCluster<T>(
  flags: ClusterFlags,
  use: (cluster: OpenCluster) => Promise<T>,
): Promise<T> {
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
    return await use({ connection, name, namespace, features, notes });
  } finally {
    connection.client.close();
  }
}
