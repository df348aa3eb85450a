import type { Features } from "@dray/api";
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
}

/** Reads the cluster that the flags name, with kubectl's precedence of flags, environment and files. */
export async function readCluster(flags: ClusterFlags): Promise<ReadCluster> {
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
    return { name, live: await readLive(connection, namespace, features), namespace, features, notes };
  } finally {
    connection.client.close();
  }
}
