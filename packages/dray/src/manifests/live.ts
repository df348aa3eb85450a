import {
  type Features,
  type KubeObject,
  type KubernetesVersion,
  kubernetesVersions,
  minorOf,
  newestKubernetesVersion,
  StatusError,
  type Wire,
} from "@dray/api";
import { kindOf } from "@dray/api/codec";
import { withoutNulls } from "@dray/api/nulls";
import type { KindRow } from "@dray/api/schema";
import { convert } from "@dray/apiserver/objects";
import { listAll } from "@dray/client";
import { hasPodGroups } from "@dray/scheduler";
import type { Connection } from "../connection/connect.ts";
import type { Located, Place } from "./place.ts";
import type { Existing } from "./read.ts";
import { furtherRows, worldRow } from "./world.ts";

/** A missing permission of the user, in the form of `kubectl create clusterrole`. */
export interface MissingRight {
  readonly verb: "list";
  /** `pods`, `resourceslices.resource.k8s.io` */
  readonly resource: string;
  readonly kind: string;
  /** The only readable namespace; undefined: unreadable. */
  readonly only?: string;
}

/** Objects of a cluster. */
export interface Live extends Existing {
  readonly missing: readonly MissingRight[];
}

/** Versions of a kind, the first served one counts: clusters before 1.34 have DRA in beta. */
const draVersions = ["v1", "v1beta2", "v1beta1"];
const groupVersions = ["v1beta1", "v1alpha3", "v1alpha2"];
const taintVersions = ["v1", "v1beta2", "v1alpha3"];

interface LiveKind {
  readonly group: string;
  readonly kind: string;
  readonly versions: readonly string[];
}

const liveKinds: readonly LiveKind[] = [
  { group: "", kind: "Node", versions: ["v1"] },
  { group: "", kind: "Pod", versions: ["v1"] },
  { group: "", kind: "Namespace", versions: ["v1"] },
  { group: "scheduling.k8s.io", kind: "PriorityClass", versions: ["v1"] },
  { group: "scheduling.k8s.io", kind: "PodGroup", versions: groupVersions },
  { group: "apps", kind: "Deployment", versions: ["v1"] },
  { group: "apps", kind: "ReplicaSet", versions: ["v1"] },
  { group: "apps", kind: "StatefulSet", versions: ["v1"] },
  { group: "apps", kind: "DaemonSet", versions: ["v1"] },
  { group: "batch", kind: "Job", versions: ["v1"] },
  { group: "resource.k8s.io", kind: "ResourceSlice", versions: draVersions },
  { group: "resource.k8s.io", kind: "DeviceClass", versions: draVersions },
  { group: "resource.k8s.io", kind: "ResourceClaim", versions: draVersions },
  { group: "resource.k8s.io", kind: "ResourceClaimTemplate", versions: draVersions },
  { group: "resource.k8s.io", kind: "DeviceTaintRule", versions: taintVersions },
];

/** A server rejects lists of kinds that it does not serve, so kinds behind a disabled gate are skipped. */
const kindsOf = (features: Features, only: ReadonlySet<string> | undefined): readonly LiveKind[] => {
  const known = liveKinds.filter(({ kind }) => {
    if (kind === "PodGroup") return hasPodGroups(features);
    return kind !== "DeviceTaintRule" || features.enabled("DRADeviceTaintRules");
  });
  if (only === undefined) return known;
  const further = furtherRows(only).map(({ group, kind, version }) => ({ group, kind, versions: [version] }));
  return [...known.filter(({ kind }) => only.has(kind)), ...further];
};

function resourceName({ group, resource }: KindRow): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** Returns the name of the cluster in texts. */
export const clusterName = ({ context, server }: Connection): string =>
  context === "" ? server : `context ${context}`;

/**
 * Reads the objects that scheduling depends on, with lists only. Skips and reports kinds without permission;
 * of namespaced ones it then reads those of `namespace`. `only`: the kinds to read. Rejects with
 * ConnectionError, and with StatusError for other refusals.
 */
export async function readLive(
  connection: Connection,
  namespace: string,
  features: Features,
  only?: ReadonlySet<string>,
): Promise<Live> {
  const name = clusterName(connection);
  const place: Place = { source: { file: name, text: "", lineOf: () => undefined }, root: "" };
  const kinds = kindsOf(features, only);
  const parts = await Promise.all(
    kinds.map(async (wanted): Promise<LivePart> => {
      const target = worldRow({ apiVersion: `${wanted.group}/v1`, kind: wanted.kind });
      const all = await listKind(connection, wanted, target, undefined);
      if (all !== "forbidden") return { objects: all };
      const right = { verb: "list", resource: resourceName(target), kind: wanted.kind } as const;
      const some = target.namespaced ? await listKind(connection, wanted, target, namespace) : "forbidden";
      if (some === "forbidden") return { objects: [], missing: right };
      return { objects: some, missing: { ...right, only: namespace } };
    }),
  );
  const missing = parts.flatMap(({ missing }) => missing ?? []);
  return {
    objects: parts.flatMap(({ objects }) => objects.map((object): Located => ({ object, place }))),
    unreadable: new Set(missing.map(({ kind }) => kind)),
    missing,
  };
}

interface LivePart {
  readonly objects: readonly KubeObject[];
  readonly missing?: MissingRight;
}

/** Returns the objects of a kind in the form of v1; an empty list if the cluster does not serve it. */
async function listKind(
  { client }: Connection,
  { group, kind, versions }: LiveKind,
  target: KindRow,
  namespace: string | undefined,
): Promise<readonly KubeObject[] | "forbidden"> {
  for (const version of versions) {
    const row = kindOf(group, version, kind);
    if (row === undefined) continue;
    try {
      const { items } = await listAll(client.resource(row), {
        ...(namespace !== undefined && { namespace }),
        // Of events, which are many, only those that report failures.
        ...(kind === "Event" && { fieldSelector: "type=Warning" }),
      });
      return row === target
        ? items
        : items.map((object) => withoutNulls(convert(structuredClone(object), row, target), object));
    } catch (error) {
      if (StatusError.is(error, "Forbidden")) return "forbidden";
      if (!StatusError.is(error, "NotFound")) throw error;
    }
  }
  return [];
}

export interface LiveVersion {
  /** `1.33`, as the server reports it. */
  readonly server: string;
  /** The closest release that Dray supports. */
  readonly rules: KubernetesVersion;
}

export async function liveVersion({ client }: Connection): Promise<LiveVersion> {
  const info = JSON.parse(await client.text("GET", "/version")) as Wire<{ major: string; minor: string }>;
  const [major, minor] = [info.major ?? "1", info.minor ?? ""];
  // Managed clusters report `33+`.
  const number = Number.parseInt(minor, 10);
  const server = `${major}.${number}`;
  const [oldest] = kubernetesVersions;
  const nearest = number < minorOf(oldest) ? oldest : newestKubernetesVersion;
  return { server, rules: kubernetesVersions.find((known) => known === server) ?? nearest };
}
