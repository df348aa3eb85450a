/** The runs of upstream's suites by their names on the command line. */

/**
 * `dra`: real kubelets; `dra-oci` and `dra-cri`: our nodes with that runtime. Real containerd runs under the
 * first and last.
 */
export const draSuites = ["dra", "dra-oci", "dra-cri"] as const;
/** Dray's API server with the real scheduler and controllers; all from Dray; all real. */
export const conformanceSuites = ["conformance", "conformance-dray", "conformance-peer"] as const;
/** Specs of the kubelet: on our nodes with the runtime `oci`, and on the real kubelet with kube-apiserver. */
export const nodeConformanceSuites = ["node-conformance", "node-conformance-peer"] as const;

export type DraSuite = (typeof draSuites)[number];
export type ConformanceSuite = (typeof conformanceSuites | typeof nodeConformanceSuites)[number];
export type ClusterSuite = DraSuite | ConformanceSuite;

export function isConformance(kind: string): kind is ConformanceSuite {
  return ([...conformanceSuites, ...nodeConformanceSuites] as readonly string[]).includes(kind);
}

/** The file in the folder `interop` with the specs of a suite that are known to fail. */
export function knownFailuresFile(kind: string): string {
  // Specs of Conformance fail because of the machine, with every control plane and every kubelet.
  const families = [
    ["conformance", conformanceSuites],
    ["node-conformance", nodeConformanceSuites],
  ] as const;
  const family = families.find(([, suites]) => (suites as readonly string[]).includes(kind));
  return `${family?.[0] ?? kind}-expected-failures.yaml`;
}
