import type { KubeObject } from "@dray/api";
import type { Job } from "@dray/api/batch/v1";
import type { Service } from "@dray/api/core/v1";

/** What a cluster of this machine has not: an object that needs it is warned of when it is created. */
interface Lack {
  readonly group: string;
  readonly resource: string;
  /** The controller that would act on the kind: nothing is lacking once it is there. */
  readonly controller?: string;
  /** The warning; undefined for an object that needs nothing of what is lacking. */
  warning(object: KubeObject, runtime: string): string | undefined;
}

const stored = (plural: string, controller: string): Pick<Lack, "controller" | "warning"> => ({
  controller,
  warning: () => `this cluster stores ${plural}, and nothing acts on them: it has no ${controller}`,
});

/** Shrinks as the parts come. What no plain Kubernetes cluster has either (an ingress controller) is not here. */
const lacking: readonly Lack[] = [
  {
    group: "autoscaling",
    resource: "horizontalpodautoscalers",
    ...stored("HorizontalPodAutoscalers", "horizontal-pod-autoscaler-controller"),
  },
  { group: "batch", resource: "cronjobs", ...stored("CronJobs", "cronjob-controller") },
  { group: "batch", resource: "jobs", ...stored("Jobs", "job-controller") },
  {
    group: "batch",
    resource: "jobs",
    controller: "ttl-after-finished-controller",
    warning: (object) =>
      (object as Job).spec?.ttlSecondsAfterFinished === undefined
        ? undefined
        : "spec.ttlSecondsAfterFinished: this cluster has no ttl-after-finished-controller, and keeps the Job",
  },
  {
    group: "policy",
    resource: "poddisruptionbudgets",
    ...stored("PodDisruptionBudgets", "disruption-controller"),
  },
  {
    group: "resource.k8s.io",
    resource: "resourcepoolstatusrequests",
    ...stored("ResourcePoolStatusRequests", "resourcepoolstatusrequest-controller"),
  },
  {
    group: "certificates.k8s.io",
    resource: "podcertificaterequests",
    warning: () =>
      "the nodes of this cluster give pods no certificates: nothing acts on PodCertificateRequests",
  },
  {
    group: "flowcontrol.apiserver.k8s.io",
    resource: "flowschemas",
    warning: () => "this API server limits requests by their number alone: FlowSchemas change nothing",
  },
  {
    group: "flowcontrol.apiserver.k8s.io",
    resource: "prioritylevelconfigurations",
    warning: () =>
      "this API server limits requests by their number alone: PriorityLevelConfigurations change nothing",
  },
  {
    group: "networking.k8s.io",
    resource: "networkpolicies",
    warning: (_, runtime) =>
      runtime.startsWith("cri")
        ? undefined
        : `NetworkPolicies are not enforced with --runtime ${runtime}: pods reach each other`,
  },
  {
    group: "storage.k8s.io",
    resource: "csidrivers",
    warning: () => "the nodes of this cluster run no CSI drivers: volumes of this one are not mounted",
  },
  {
    group: "",
    resource: "services",
    warning: (object, runtime) =>
      runtime === "host" && (object as Service).spec.type !== "ExternalName"
        ? "with --runtime host the addresses and names of Services lead nowhere: see --runtime oci"
        : undefined,
  },
  {
    group: "",
    resource: "services",
    warning: (object, runtime) =>
      runtime !== "host" && (object as Service).spec.type === "LoadBalancer"
        ? "spec.type: this cluster has no load balancers: the Service is reached at its node ports"
        : undefined,
  },
];

/**
 * Returns what an object is warned of when it is created, so that nobody waits in vain. `controllers` are the names of
 * those that run.
 */
export function lackWarnings(
  runtime: string,
  controllers: readonly string[],
): (group: string, resource: string, object: KubeObject) => readonly string[] {
  const open = lacking.filter(
    ({ controller }) => controller === undefined || !controllers.includes(controller),
  );
  const byResource = Map.groupBy(open, ({ group, resource }) => `${group}/${resource}`);
  return (group, resource, object) =>
    (byResource.get(`${group}/${resource}`) ?? []).flatMap((lack) => lack.warning(object, runtime) ?? []);
}
