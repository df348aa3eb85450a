import { kindRows } from "../schema/table.ts";
import { kindOf } from "../schema/types.ts";
import registeredKinds from "./registered-kinds.json" with { type: "json" };

/**
 * Kinds that kube-apiserver can decode and the schema table does not have, by apiVersion; most are not
 * served.
 */
const beside: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(registeredKinds).map(([apiVersion, kinds]) => [apiVersion, kinds.split(" ")]),
);

/**
 * Known in every version. Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/register.go,
 * AddToGroupVersion
 */
const inEveryVersion = new Set([
  "CreateOptions",
  "DeleteOptions",
  "GetOptions",
  "ListOptions",
  "PatchOptions",
  "UpdateOptions",
  "WatchEvent",
]);
/** Known in every version. */
const unversioned = new Set(["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"]);
/** Groups whose kinds are registered in another scheme. */
const elsewhere = new Set(["apiextensions.k8s.io", "apiregistration.k8s.io", "metrics.k8s.io"]);
/** Kinds without a list of their own. */
const unlisted =
  /Review$|Options$|^(AdmissionReview|Binding|DeploymentRollback|Eviction|List|PodStatusResult|Scale)$/;

const joined = (group: string, version: string): string => (group === "" ? version : `${group}/${version}`);

let versions: ReadonlySet<string> | undefined;

/** Whether kube-apiserver can decode a kind, served or not. */
export function isRegistered(group: string, version: string, kind: string): boolean {
  if (unversioned.has(kind)) return true;
  if (elsewhere.has(group)) return false;
  const apiVersion = joined(group, version);
  if (inEveryVersion.has(kind)) {
    versions ??= new Set([...beside.keys(), ...kindRows.map((row) => joined(row.group, row.version))]);
    return versions.has(apiVersion);
  }
  const has = (name: string): boolean =>
    kindOf(group, version, name) !== undefined || (beside.get(apiVersion) ?? []).includes(name);
  if (has(kind)) return true;
  const item = kind.endsWith("List") ? kind.slice(0, -"List".length) : "";
  return item !== "" && !unlisted.test(item) && has(item);
}

const moved: Readonly<Record<string, string>> = {
  "extensions/DaemonSet": "apps",
  "extensions/Deployment": "apps",
  "extensions/Ingress": "networking.k8s.io",
  "extensions/NetworkPolicy": "networking.k8s.io",
  "extensions/ReplicaSet": "apps",
  "events.k8s.io/Event": "",
};

/** The group that a kind belongs to now: some kinds have moved. */
export function homeGroup(group: string, kind: string): string {
  return moved[`${group}/${kind}`] ?? group;
}

/** The Go package of a group's internal types, which have no version. */
function internalPackage(group: string): string {
  return group === "" || group === "events.k8s.io" ? "core" : group.split(".", 1)[0]!;
}

/** Why a registered kind is rejected: it is decoded, and cannot be converted to the expected kind. */
export function unknownConversion(
  version: string,
  kind: string,
  expected: { readonly group: string; readonly kind: string },
): string {
  // Kinds of the API machinery are of one Go package in every version.
  const from = inEveryVersion.has(kind) || unversioned.has(kind) ? "v1" : version;
  return `converting (${from}.${kind}) to (${internalPackage(expected.group)}.${expected.kind}): unknown conversion`;
}
