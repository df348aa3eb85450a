import { StatusError, type Wire } from "@dray/api";
import type { APIGroup, APIResourceList } from "@dray/api/meta/v1";
import type { PolicyRule } from "@dray/api/rbac/v1";
import type { Connection } from "../connection/connect.ts";
import { answerWithoutFaults } from "../manifests/faults.ts";
import { liveVersion, type MissingRight } from "../manifests/live.ts";
import { type Observed, type ObserveFlags, observe } from "../observe/read.ts";
import { unreadyDriverPods } from "./driver-readiness.ts";
import { reviewedRights } from "./driver-rights.ts";
import { accountOf, silentDriverSets } from "./driver-sets.ts";
import type { ServerVersions, Snapshot } from "./finding.ts";
import { lastLines } from "./logs.ts";
import { unreadyWebhookPods } from "./webhooks.ts";

/** All listed kinds. */
export const doctorKinds: readonly string[] = [
  "Node",
  "Pod",
  "ResourceSlice",
  "DeviceClass",
  "ResourceClaim",
  "ResourceClaimTemplate",
  "DeviceTaintRule",
  "DaemonSet",
  "Event",
  "Service",
  "EndpointSlice",
  "ClusterRole",
  "ClusterRoleBinding",
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
  "CustomResourceDefinition",
];

export interface Examination {
  readonly snapshot: Snapshot;
  readonly source: string;
  readonly isLive: boolean;
  readonly notes: readonly string[];
  readonly missing: readonly MissingRight[];
}

/** Reads a cluster with lists only, or the cluster that manifests describe. */
export async function readSnapshot(flags: ObserveFlags, now: number): Promise<Examination> {
  const observed = await observe(flags, new Set(doctorKinds), now, (connection, observed) =>
    readMore(connection, observed, now),
  );
  const { world, features, source, isLive, notes, missing, more } = observed;
  const { server, lackingRights, logs } = more ?? {};
  return {
    snapshot: {
      ...{ world, features, now, server },
      ...(lackingRights !== undefined && { lackingRights }),
      ...(logs !== undefined && { logs }),
    },
    source,
    isLive,
    notes,
    missing,
  };
}

interface More {
  readonly server: ServerVersions;
  readonly lackingRights: ReadonlyMap<string, readonly PolicyRule[]> | undefined;
  readonly logs: ReadonlyMap<string, string>;
}

async function readMore(connection: Connection, { world, features }: Observed, now: number): Promise<More> {
  const { answer: sets } = answerWithoutFaults(world, (each) => silentDriverSets(each, now));
  const { answer: failing } = answerWithoutFaults(world, (each) => {
    const snapshot = { world: each, features, now, server: undefined };
    return [...unreadyDriverPods(snapshot), ...unreadyWebhookPods(snapshot)];
  });
  const [{ server }, versions, lackingRights, logs] = await Promise.all([
    liveVersion(connection),
    servedVersions(connection),
    reviewedRights(
      connection,
      sets.map(({ daemonSet }) => accountOf(daemonSet)),
    ),
    lastLines(connection, failing),
  ]);
  return { server: { release: server, ...versions }, lackingRights, logs };
}

/** Versions of DeviceTaintRules, the newest first. */
const taintRuleVersions = ["v1", "v1beta2", "v1alpha3"];

async function servedVersions({
  client,
}: Connection): Promise<Pick<ServerVersions, "served" | "taintRules">> {
  const read = async <T>(path: string): Promise<Wire<T> | undefined> => {
    try {
      return JSON.parse(await client.text("GET", path)) as Wire<T>;
    } catch (error) {
      if (StatusError.is(error, "NotFound")) return undefined;
      throw error;
    }
  };
  const group = await read<APIGroup>("/apis/resource.k8s.io");
  const served = (group?.versions ?? []).flatMap(({ version }) => version ?? []);
  for (const version of taintRuleVersions) {
    if (!served.includes(version)) continue;
    const { resources } = (await read<APIResourceList>(`/apis/resource.k8s.io/${version}`)) ?? {};
    if ((resources ?? []).some(({ name }) => name === "devicetaintrules"))
      return { served, taintRules: version };
  }
  return { served };
}
