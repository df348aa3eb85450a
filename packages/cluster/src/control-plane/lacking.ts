import type { KubeObject } from "@dray/api";
import type { Service } from "@dray/api/core/v1";
import type { RuntimeClass } from "@dray/api/node/v1";

/** A part that a cluster of this machine lacks. Creating an object that needs it returns a warning. */
interface Lack {
  readonly group: string;
  readonly resource: string;
  /** The warning; undefined for an object that needs nothing of what is lacking. */
  warning(object: KubeObject, runtime: string): string | undefined;
}

/** Parts that `dray up` lacks. Parts that plain Kubernetes lacks too (an ingress controller) are left out. */
const lacking: readonly Lack[] = [
  {
    group: "networking.k8s.io",
    resource: "networkpolicies",
    warning: (_, runtime) =>
      runtime.startsWith("cri")
        ? undefined
        : `NetworkPolicies are not enforced with --runtime ${runtime}: pods reach each other`,
  },
  {
    group: "node.k8s.io",
    resource: "runtimeclasses",
    warning: (object, runtime) => {
      const { handler } = object as RuntimeClass;
      // A CRI runtime has its own handlers.
      if (runtime.startsWith("cri") || (runtime === "oci" && handler === "runc")) return undefined;
      return `the nodes of this cluster have no runtime beside that of --runtime ${runtime}: pods with handler ${JSON.stringify(handler)} do not start`;
    },
  },
  {
    group: "storage.k8s.io",
    resource: "csidrivers",
    warning: () => "the nodes of this cluster run no CSI drivers: volumes of this one are not mounted",
  },
  {
    group: "",
    resource: "services",
    warning: (object) =>
      (object as Service).spec.type === "LoadBalancer"
        ? "spec.type: this cluster has no load balancers: the Service is reached at its node ports"
        : undefined,
  },
];

/** Returns the warnings for an object whose creation will have no effect. */
export function lackWarnings(
  runtime: string,
): (group: string, resource: string, object: KubeObject) => readonly string[] {
  const byResource = Map.groupBy(lacking, ({ group, resource }) => `${group}/${resource}`);
  return (group, resource, object) =>
    (byResource.get(`${group}/${resource}`) ?? []).flatMap((lack) => lack.warning(object, runtime) ?? []);
}
