import priorities from "./priorities.json" with { type: "json" };

/** Position of a version in discovery: groups are sorted by `group`, versions of a group by `version`. */
export interface Priority {
  readonly group: number;
  readonly version: number;
}

const builtIn: ReadonlyMap<string, readonly number[]> = new Map(Object.entries(priorities));

/**
 * Priority of versions that custom resources define.
 *
 * Upstream: pkg/controlplane/controller/crdregistration, handleVersionUpdate
 */
export const customPriority: Priority = { group: 1000, version: 100 };

/** Priority in metrics-server's manifest; used for this server's own metrics.k8s.io. */
const extensionPriority: Priority = { group: 100, version: 100 };

/**
 * Returns the priority of a built-in version; undefined for others.
 *
 * Upstream: pkg/controlplane/apiserver/aggregator.go and cmd/kube-apiserver/app/aggregator.go
 */
export function builtInPriority(group: string, version: string): Priority | undefined {
  const [ofGroup, ofVersion] = builtIn.get(`${group}/${version}`) ?? [];
  if (ofGroup === undefined || ofVersion === undefined) return undefined;
  return { group: ofGroup, version: ofVersion };
}

/** Returns the priority of a version that this server serves itself. */
export function localPriority(group: string, version: string): Priority {
  if (group === "metrics.k8s.io") return extensionPriority;
  return builtInPriority(group, version) ?? customPriority;
}
