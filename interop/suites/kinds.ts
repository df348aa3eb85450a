/** The runs of upstream's suites by their names on the command line. */

/** `dra`: real kubelets; `dra-oci` and `dra-cri`: our nodes with that runtime. Real containerd runs under the first and last. */
export const draSuites = ["dra", "dra-oci", "dra-cri"] as const;
/** Whose API server, and whose scheduler and controllers: Dray's and the real ones, Dray's alone, the real ones alone. */
export const conformanceSuites = ["conformance", "conformance-dray", "conformance-peer"] as const;

export type DraSuite = (typeof draSuites)[number];
export type ConformanceSuite = (typeof conformanceSuites)[number];
export type ClusterSuite = DraSuite | ConformanceSuite;

export function isConformance(kind: string): kind is ConformanceSuite {
  return (conformanceSuites as readonly string[]).includes(kind);
}
