/** Older names that `--controllers` still understands. Upstream: cmd/kube-controller-manager/app. */
const aliases: Readonly<Record<string, string>> = {
  attachdetach: "persistentvolume-attach-detach-controller",
  bootstrapsigner: "bootstrap-signer-controller",
  "clusterrole-aggregation": "clusterrole-aggregation-controller",
  cronjob: "cronjob-controller",
  csrapproving: "certificatesigningrequest-approving-controller",
  csrcleaner: "certificatesigningrequest-cleaner-controller",
  csrsigning: "certificatesigningrequest-signing-controller",
  daemonset: "daemonset-controller",
  deployment: "deployment-controller",
  disruption: "disruption-controller",
  endpoint: "endpoints-controller",
  endpointslice: "endpointslice-controller",
  endpointslicemirroring: "endpointslice-mirroring-controller",
  "ephemeral-volume": "ephemeral-volume-controller",
  garbagecollector: "garbage-collector-controller",
  horizontalpodautoscaling: "horizontal-pod-autoscaler-controller",
  job: "job-controller",
  "legacy-service-account-token-cleaner": "legacy-serviceaccount-token-cleaner-controller",
  namespace: "namespace-controller",
  nodeipam: "node-ipam-controller",
  nodelifecycle: "node-lifecycle-controller",
  "persistentvolume-binder": "persistentvolume-binder-controller",
  "persistentvolume-expander": "persistentvolume-expander-controller",
  podgc: "pod-garbage-collector-controller",
  "pv-protection": "persistentvolume-protection-controller",
  "pvc-protection": "persistentvolumeclaim-protection-controller",
  replicaset: "replicaset-controller",
  replicationcontroller: "replicationcontroller-controller",
  "resource-claim-controller": "resourceclaim-controller",
  resourcequota: "resourcequota-controller",
  "root-ca-cert-publisher": "root-ca-certificate-publisher-controller",
  serviceaccount: "serviceaccount-controller",
  "serviceaccount-token": "serviceaccount-token-controller",
  statefulset: "statefulset-controller",
  svm: "storage-version-migrator-controller",
  tokencleaner: "token-cleaner-controller",
  "ttl-after-finished": "ttl-after-finished-controller",
};

/** Upstream: `isDisabledByDefault` of their descriptors. */
const disabledByDefault: readonly string[] = ["bootstrap-signer-controller", "token-cleaner-controller"];

/**
 * The names that a list selects as `--controllers` does: `*` is all that are on by default, `foo` one, `-foo`
 * all but one; what comes first counts. Throws a TypeError for a name that is not known.
 */
export function selectControllers(known: readonly string[], wanted: readonly string[]): string[] {
  const entries = wanted.map((entry) => {
    const off = entry.startsWith("-");
    const given = off ? entry.slice(1) : entry;
    const name = aliases[given] ?? given;
    if (entry !== "*" && !known.includes(name))
      throw new TypeError(`${given} is not a controller: use * or any of ${known.join(", ")}`);
    return { name, off };
  });
  return known.filter((name) => {
    const entry = entries.find((one) => one.name === name);
    if (entry !== undefined) return !entry.off;
    return wanted.includes("*") && !disabledByDefault.includes(name);
  });
}
