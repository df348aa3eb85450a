import { type KubeObject, StatusError } from "@dray/api";
import { systemPriorityClasses } from "../admission/priority.ts";
import type { ServedResource } from "../registry/kinds.ts";
import type { Registry } from "../registry/registry.ts";
import { bootstrapBindings, bootstrapRoles } from "./policy.ts";

const system = { name: "system:apiserver", groups: ["system:masters"] };

const namespaceNames = ["default", "kube-node-lease", "kube-public", "kube-system"];

/**
 * Creates what every cluster begins with and this one lacks: namespaces, roles and bindings, priority classes, the
 * service `kubernetes`. What is there already is left as it is.
 */
export async function bootstrap(
  registry: Registry,
  resources: readonly ServedResource[],
  endpoint: { readonly clusterIP: string; readonly port: number },
): Promise<void> {
  const served = (group: string, resource: string): ServedResource =>
    resources.find((row) => row.group === group && row.resource === resource && row.version === "v1")!;
  const ensure = async (resource: ServedResource, draft: object, namespace = ""): Promise<void> => {
    const object = draft as KubeObject;
    if (registry.find(resource, namespace, object.metadata.name)) return;
    try {
      await registry.create(
        {
          served: resource,
          subresource: "",
          namespace,
          name: "",
          user: system,
          verb: "create",
          options: { dryRun: false, fieldManager: "kube-apiserver", fieldValidation: "Ignore", force: false },
        },
        structuredClone(object),
      );
    } catch (error) {
      if (!StatusError.is(error, "AlreadyExists")) throw error;
    }
  };
  const rbac = "rbac.authorization.k8s.io";
  // Writes of one turn share one durable commit.
  await Promise.all([
    ...namespaceNames.map((name) =>
      ensure(served("", "namespaces"), { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: {} }),
    ),
    ...bootstrapRoles().map((role) => ensure(served(rbac, "clusterroles"), role)),
    ...bootstrapBindings().map((binding) => ensure(served(rbac, "clusterrolebindings"), binding)),
    ...systemPriorityClasses.map(({ name, ...rest }) =>
      ensure(served("scheduling.k8s.io", "priorityclasses"), {
        apiVersion: "scheduling.k8s.io/v1",
        kind: "PriorityClass",
        metadata: { name },
        preemptionPolicy: "PreemptLowerPriority",
        ...rest,
      }),
    ),
  ]);
  await ensure(
    served("", "services"),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: {
        name: "kubernetes",
        namespace: "default",
        labels: { component: "apiserver", provider: "kubernetes" },
      },
      spec: {
        type: "ClusterIP",
        clusterIP: endpoint.clusterIP,
        clusterIPs: [endpoint.clusterIP],
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        internalTrafficPolicy: "Cluster",
        sessionAffinity: "None",
        ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: endpoint.port }],
      },
      status: { loadBalancer: {} },
    },
    "default",
  );
}
