import { type Features, parseFeatureGates } from "@dray/api";
import { createRestMapper, type DiscoveredKind } from "@dray/client";
import { type Connection, connect } from "../connection/connect.ts";
import { clusterName, type Live, liveVersion, readLive } from "../manifests/live.ts";
import type { ClusterFlags } from "../options/manifest-options.ts";
import { featuresOption } from "../options/values.ts";
import { drayVersion } from "../process/dray-version.ts";
import {
  type FoundGate,
  featuresFrom,
  gatesOfCommandLines,
  gatesOfFields,
  gatesOfKinds,
  gatesOfMetrics,
} from "./gates.ts";
import { type LiveSchedulerConfig, liveSchedulerConfig } from "./scheduler-config.ts";

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
  /** The configuration of its scheduler, as far as it is known. */
  readonly schedulerConfig: LiveSchedulerConfig;
}

/** A connection to the cluster of the flags, and the rules of its release. */
export interface OpenCluster extends Omit<ReadCluster, "live" | "schedulerConfig"> {
  readonly connection: Connection;
  /** The gates that are known without objects; undefined `metrics`: no right to read them. */
  readonly gates: {
    readonly metrics: readonly FoundGate[] | undefined;
    readonly kinds: readonly FoundGate[];
  };
}

/**
 * Reads the cluster of the flags, with kubectl's precedence of flags, environment and files. Gates that
 * /metrics does not report are those that its objects show.
 */
export function readCluster(flags: ClusterFlags): Promise<ReadCluster> {
  return withCluster(flags, async ({ connection, gates, ...cluster }) => {
    const { name, namespace, features: first } = cluster;
    const live = await readLive(connection, namespace, first);
    const found = gates.metrics ?? [
      ...gatesOfCommandLines(live.objects),
      ...gates.kinds,
      ...gatesOfFields(live.objects, first),
    ];
    const { features, used } = featuresFrom(first.version, found, flagGates(flags));
    const notes = [
      ...cluster.notes,
      ...(gates.metrics === undefined ? [unreadMetrics(name, first.version)] : []),
      ...gateNotes(name, first.version, used),
    ];
    const schedulerConfig = liveSchedulerConfig(connection, flags, live.objects);
    return { ...cluster, live, features, notes, schedulerConfig };
  });
}

const unreadMetrics = (name: string, version: string): string =>
  `${name}: no right to get /metrics: feature gates are those that its objects and API versions show, else the defaults of ${version} (--feature-gates sets them)`;

/** Names the gates that differ from the defaults, by their source. */
function gateNotes(name: string, version: string, used: readonly FoundGate[]): string[] {
  const bySource = Map.groupBy(used, ({ source }) => source);
  return [...bySource].map(([source, gates]) => {
    const list = gates.map(({ gate, enabled }) => `${gate}=${enabled}`).join(",");
    return `${name}: gates that differ from the defaults of ${version}, by ${source}: ${list}`;
  });
}

const flagGates = ({ featureGates }: ClusterFlags): ReadonlyMap<string, boolean> =>
  parseFeatureGates(featureGates ?? "");

/**
 * Connects to the cluster of the flags, reads its release, kinds and feature gates, and closes the connection
 * after `use`.
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
    const { version } = featuresOption({ ...flags, kubernetesVersion });
    const [metrics, kinds] = await Promise.all([
      gatesOfMetrics(connection),
      createRestMapper(connection.client).kinds(),
    ]);
    const gates = { metrics, kinds: gatesOfKinds(kinds) };
    const { features } = featuresFrom(version, metrics ?? gates.kinds, flagGates(flags));
    const namespace = flags.namespace ?? connection.namespace;
    return await use({ connection, name, namespace, features, notes, kinds, gates });
  } finally {
    connection.client.close();
  }
}
