export type Severity = "error" | "warning";

export interface Rule {
  /**
   * `error`: it would be rejected or would hang; `warning`: it may, or differs from the apparent intention.
   */
  readonly severity: Severity;
  /** Description, as in docs/lint.md. */
  readonly about: string;
}

const unknownInCluster = "A warning unless the input is a whole cluster, or has a similar name.";

/** All rules by their id, in the order of docs/lint.md. */
export const rules = {
  unreadable: {
    severity: "error",
    about: "A file or directory is missing, or it or an object cannot be read.",
  },
  syntax: { severity: "error", about: "A document is not YAML or JSON, or not a Kubernetes object." },
  "unserved-version": {
    severity: "error",
    about: "The release, or the cluster, does not serve this kind in this `apiVersion`.",
  },
  "deprecated-version": { severity: "warning", about: "The `apiVersion` is deprecated, and will be gone." },
  "unknown-field": { severity: "error", about: "A field that the release does not have." },
  "dropped-field": {
    severity: "warning",
    about: "A field that the release silently drops, because its feature gate is off.",
  },
  "duplicate-key": { severity: "error", about: "A map has a key twice." },
  "wrong-type": { severity: "error", about: "A value of a type that the field does not have." },
  invalid: { severity: "error", about: "The API server's validation rejects a value." },
  immutable: {
    severity: "error",
    about: "The object is in the cluster, and the API server rejects this change of it.",
  },
  forbidden: {
    severity: "error",
    about: "Admission rejects the object: pod security, limits of the namespace.",
  },
  "server-warning": { severity: "warning", about: "The API server accepts the object with a warning." },
  "duplicate-object": { severity: "error", about: "Two manifests describe one object, and differ." },
  "missing-claim": {
    severity: "error",
    about: `A pod names a ResourceClaim that does not exist: it waits. ${unknownInCluster}`,
  },
  "missing-template": {
    severity: "error",
    about: `A pod names a ResourceClaimTemplate that does not exist: it waits. ${unknownInCluster}`,
  },
  "missing-class": {
    severity: "error",
    about:
      "A request names a DeviceClass that does not exist: its pods wait. A warning unless the input is a whole cluster.",
  },
  "undeclared-claim": {
    severity: "error",
    about: "A container names a claim that its pod does not declare in `resourceClaims`.",
  },
  "unknown-request": {
    severity: "error",
    about: "A container names a request that the claim does not have: it gets no device.",
  },
  "unused-claim": {
    severity: "warning",
    about:
      "A pod declares a claim that no container names. Right for drivers that act on the pod, such as those of networks.",
  },
  "bypasses-scheduler": {
    severity: "error",
    about: "A pod sets `nodeName` and uses a claim: the claim is not allocated, and the pod waits.",
  },
  "invalid-selector": { severity: "error", about: "A CEL expression does not compile, or costs too much." },
  "suspicious-selector": {
    severity: "warning",
    about: "A CEL expression compiles, but is probably a mistake.",
  },
  "selector-fails": {
    severity: "error",
    about: "A selector fails on a device of the given ResourceSlices: scheduling fails with it.",
  },
  "selector-never-matches": {
    severity: "error",
    about: "A selector of a request is false for all devices of its class.",
  },
  "class-without-devices": {
    severity: "warning",
    about: "A DeviceClass matches no device of the given ResourceSlices.",
  },
  "request-without-devices": {
    severity: "error",
    about: "A request names a class that matches no device of the given ResourceSlices.",
  },
  "count-too-high": {
    severity: "error",
    about: "A request asks for more devices than any node has, even when all are free.",
  },
  "claim-never-fits": {
    severity: "error",
    about:
      "No node can serve the claim, even when all devices are free: taints, constraints, counters, capacity.",
  },
  "pod-never-fits": {
    severity: "error",
    about: "No node takes the pod, even an empty one: resources, node selector, affinity, taints, devices.",
  },
  "admin-access": {
    severity: "warning",
    about:
      "A request has `adminAccess`, which its namespace must allow by a label, and the namespace is not among the objects.",
  },
  "config-without-driver": {
    severity: "warning",
    about:
      "Opaque configuration is for a driver that has no devices of the classes that it is for: it has no effect.",
  },
  "pool-incomplete": {
    severity: "warning",
    about: "ResourceSlices of a pool are missing: its devices are not used.",
  },
  "pool-invalid": {
    severity: "error",
    about: "ResourceSlices of a pool contradict each other: its devices are not used.",
  },
  "missing-namespace": {
    severity: "error",
    about:
      "The namespace of an object is not in the cluster. Looked for only where its namespaces are known.",
  },
  "missing-priority-class": {
    severity: "warning",
    about: "A pod names a PriorityClass that does not exist: it would be refused.",
  },
  "missing-service-account": {
    severity: "warning",
    about: "A pod names a ServiceAccount that is not among those of its namespace, where some are given.",
  },
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleId = keyof typeof rules;

export const ruleIds = Object.keys(rules) as readonly RuleId[];
