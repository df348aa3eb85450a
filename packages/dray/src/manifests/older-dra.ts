/** The command that rewrites manifests of older versions. */
export const migrateHint = "`dray migrate` rewrites it";

/** Kinds of Kubernetes 1.26 to 1.31 (classic DRA), and what has replaced them. */
const replacements: ReadonlyMap<string, string> = new Map([
  ["ResourceClass", "DeviceClass has replaced it"],
  ["ResourceClaimParameters", "requests and config of a claim have replaced it"],
  ["ResourceClassParameters", "selectors and config of a DeviceClass have replaced it"],
]);
const removed: ReadonlySet<string> = new Set(["PodScheduling", "PodSchedulingContext"]);
const migrated: ReadonlySet<string> = new Set([
  "DeviceClass",
  "ResourceClaim",
  "ResourceClaimTemplate",
  "ResourceSlice",
]);

/** Reports whether the version is one of classic DRA, whose fields v1 does not have. */
export const isClassicVersion = (apiVersion: string): boolean =>
  /^resource\.k8s\.io\/v1alpha[12]$/.test(apiVersion);

/** Suggestions for manifests of older versions of resource.k8s.io; none for others. */
export function olderVersionHints({
  apiVersion,
  kind,
}: {
  readonly apiVersion: string;
  readonly kind: string;
}): string[] {
  if (!apiVersion.startsWith("resource.k8s.io/")) return [];
  const replacement = replacements.get(kind);
  if (replacement !== undefined) return [replacement, migrateHint];
  if (removed.has(kind)) return ["Kubernetes 1.32 removed it: the scheduler allocates devices itself"];
  return migrated.has(kind) && apiVersion !== "resource.k8s.io/v1" ? [migrateHint] : [];
}
