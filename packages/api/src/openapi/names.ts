/**
 * The name of a table's type in OpenAPI documents: its Go package from the domain down
 * (`io.k8s.api.core.v1.Pod`).
 */
export function schemaName(type: string): string {
  const slash = type.indexOf("/");
  const group = type.slice(0, slash);
  return `${packages[group] ?? `io.k8s.api.${group}`}.${type.slice(slash + 1)}`;
}

const packages: Readonly<Record<string, string>> = {
  meta: "io.k8s.apimachinery.pkg.apis.meta",
  metrics: "io.k8s.metrics.pkg.apis.metrics",
  apiextensions: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
  apiregistration: "io.k8s.kube-aggregator.pkg.apis.apiregistration",
};

/** The names of the types that are not structs of the table. */
export const sharedNames = {
  Quantity: "io.k8s.apimachinery.pkg.api.resource.Quantity",
  IntOrString: "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
  RawExtension: "io.k8s.apimachinery.pkg.runtime.RawExtension",
  Time: "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
  MicroTime: "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
  Duration: "io.k8s.apimachinery.pkg.apis.meta.v1.Duration",
  FieldsV1: "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
  Patch: "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
  WatchEvent: "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent",
} as const;
export type SharedName = keyof typeof sharedNames;

/** `Core`, `Resource`, `RbacAuthorization`: the group as operation ids have it. */
export function groupWord(group: string): string {
  if (group === "") return "Core";
  return group
    .replace(/\.k8s\.io$/, "")
    .split(".")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
}
