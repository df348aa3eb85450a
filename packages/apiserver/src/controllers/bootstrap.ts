import { type FeatureGate, type Features, type KubeObject, StatusError } from "@dray/api";
import type { ClusterRole, ClusterRoleBinding } from "@dray/api/rbac/v1";
import { systemPriorityClasses } from "../admission/priority.ts";
import { bootstrapBindings, bootstrapRoles } from "../authorization/bootstrap-policy.ts";
import { uncovered } from "../authorization/rules.ts";
import { requiredResource, type ServedResource } from "../kinds/resources.ts";
import { deepEqual, thaw } from "../storage/json.ts";
import type { Registry } from "../write/registry.ts";

const system = { name: "system:apiserver", groups: ["system:masters"] };

const namespaceNames = ["default", "kube-node-lease", "kube-public", "kube-system"];

const options = {
  dryRun: false,
  fieldManager: "kube-apiserver",
  fieldValidation: "Ignore",
  force: false,
} as const;

/**
 * Creates the objects of a new cluster that are missing: namespaces, roles and bindings, priority classes,
 * the service `kubernetes` and the range of its address. Missing rules and subjects are added to existing
 * roles and bindings, unless their annotation says otherwise; other existing objects stay as they are.
 */
export async function bootstrap(
  registry: Registry,
  resources: readonly ServedResource[],
  features: Features,
): Promise<void> {
  const served = (group: string, resource: string): ServedResource =>
    requiredResource(resources, { group, resource });
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
          options,
        },
        thaw(object),
      );
    } catch (error) {
      if (!StatusError.is(error, "AlreadyExists")) throw error;
    }
  };
  const enabled = (gate: FeatureGate): boolean => features.enabled(gate);
  const groups = new Set(resources.map(({ group }) => group));
  const policy = [...bootstrapRoles(groups, enabled), ...bootstrapBindings(enabled)];
  const ensurePolicy = (draft: (typeof policy)[number]): Promise<void> => {
    const { name, namespace = "" } = draft.metadata;
    const resource = served("rbac.authorization.k8s.io", `${draft.kind.toLowerCase()}s`);
    const present = registry.find(resource, namespace, name);
    if (present === undefined) return ensure(resource, draft, namespace);
    return reconcile(registry, resource, present.object, draft as KubeObject);
  };
  // Writes of one turn of the event loop share one durable commit.
  await Promise.all([
    ...namespaceNames.map((name) =>
      ensure(served("", "namespaces"), { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: {} }),
    ),
    ...policy.filter(({ metadata }) => metadata.namespace === undefined).map(ensurePolicy),
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
  const configMap = (name: string, data: Record<string, string>): Promise<void> =>
    ensure(
      served("", "configmaps"),
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "kube-system" }, data },
      "kube-system",
    );
  await Promise.all([
    // The time since which secrets with tokens are marked when used: unmarked ones may be cleaned up later.
    configMap("kube-apiserver-legacy-service-account-token-tracking", { since: registry.now().slice(0, 10) }),
    ...policy.filter(({ metadata }) => metadata.namespace !== undefined).map(ensurePolicy),
  ]);
}

/** Adds missing rules to a role, and missing subjects to a binding. */
async function reconcile(
  registry: Registry,
  served: ServedResource,
  present: KubeObject,
  desired: KubeObject,
): Promise<void> {
  if (present.metadata.annotations?.["rbac.authorization.kubernetes.io/autoupdate"] === "false") return;
  const changed = served.resource.endsWith("roles")
    ? withRules(present as ClusterRole, desired as ClusterRole)
    : withSubjects(present as ClusterRoleBinding, desired as ClusterRoleBinding);
  if (changed === undefined) return;
  const { name, namespace = "" } = present.metadata;
  await registry.update(
    { served, subresource: "", namespace, name, user: system, verb: "update", options },
    { unchecked: true, change: () => thaw(changed) },
  );
}

function withRules(present: ClusterRole, desired: ClusterRole): ClusterRole | undefined {
  // The rules of an aggregating role are computed from other roles.
  if (desired.aggregationRule) return undefined;
  const missing = uncovered(present.rules ?? [], desired.rules ?? []);
  return missing.length === 0 ? undefined : { ...present, rules: [...(present.rules ?? []), ...missing] };
}

function withSubjects(
  present: ClusterRoleBinding,
  desired: ClusterRoleBinding,
): ClusterRoleBinding | undefined {
  // A role reference is immutable: a binding to another role belongs to a user.
  if (!deepEqual(present.roleRef, desired.roleRef)) return undefined;
  const missing = (desired.subjects ?? []).filter(
    (subject) => !(present.subjects ?? []).some((own) => deepEqual(own, subject)),
  );
  if (missing.length === 0) return undefined;
  return { ...present, subjects: [...(present.subjects ?? []), ...missing] };
}
