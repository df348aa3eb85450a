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

/** The objects of a cluster, and the rules of its release. */
export interface ReadCluster {
  readonly name: string;
  readonly live: Live;
  /** Namespace of objects that do not name one. */
  readonly namespace: string;
  readonly features: Features;
  readonly notes: readonly string[];
  /** The served kinds. */
  readonly kinds: readonly DiscoveredKind[];
}

/** A connection to the cluster of the flags, and the rules of its release. */
export interface OpenCluster extends Omit<ReadCluster, "live" | "kinds"> {
  readonly connection: Connection;
}

/**
 * Reads the cluster of the flags, with kubectl's precedence of flags, environment and files. `withKinds`:
 * also the served kinds.
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

/** Connects to the cluster of the flags, reads its release, and closes the connection after `use`. */
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
