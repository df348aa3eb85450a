/**
 * Prefixes of labels that a node may set: `kubelet.kubernetes.io/*`, `node.kubernetes.io/*` and subdomains.
 */
const ownDomains = ["kubelet.kubernetes.io", "node.kubernetes.io"];
/** With `node-restriction.kubernetes.io`, whose labels are for administrators only. */
const kubernetesDomains = ["kubernetes.io", "k8s.io"];

/** Labels by which a kubelet describes its machine. */
const ownLabels = new Set([
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "kubernetes.io/arch",
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
]);

type Labels = Readonly<Record<string, string>>;

/**
 * Returns the sorted keys of changed labels that a node may not set, change or remove on its own Node: it
 * must not attract workloads by labels that others trust (KEP-279 "Limit node access", section on labels).
 */
export function forbiddenNodeLabels(labels: Labels = {}, old: Labels = {}): string[] {
  const keys = new Set([...Object.keys(labels), ...Object.keys(old)]);
  return [...keys].filter((key) => labels[key] !== old[key] && isForbidden(key)).sort();
}

function isForbidden(key: string): boolean {
  const slash = key.indexOf("/");
  const domain = slash < 0 ? "" : key.slice(0, slash);
  return within(domain, kubernetesDomains) && !ownLabels.has(key) && !within(domain, ownDomains);
}

function within(domain: string, parents: readonly string[]): boolean {
  return parents.some((parent) => domain === parent || domain.endsWith(`.${parent}`));
}
