import { type Kind, type KubeObject, StatusError } from "@dray/api";
import { Node, Pod } from "@dray/api/core/v1";
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "@dray/api/rbac/v1";
import type { Client } from "@dray/client";
import { type ClusterConfig, simulatedNodesUser } from "@dray/cluster";
import type { Fleet } from "@dray/driver-simulated";
import { type SimulatedNode, simulatedLabel } from "@dray/kubelet/simulated";

/** Maximum number of simulated nodes, by their names and the size of a cluster; the memory allows fewer. */
export const maxSimulatedNodes = 20_000;

type Chosen = Pick<ClusterConfig, "simulatedNodes">;

/** Returns the nodes of a number in `--simulated-nodes`: `simulated-1` and so on. */
export function countedNodes({ simulatedNodes }: Chosen): string[] {
  const count = typeof simulatedNodes === "number" ? simulatedNodes : 0;
  return Array.from({ length: count }, (_, i) => `simulated-${i + 1}`);
}

/** Returns the options of `readFleet` for them. */
export function simulationOf(config: Chosen): { simulatedNodes: readonly string[]; simulateAll: boolean } {
  return { simulatedNodes: countedNodes(config), simulateAll: config.simulatedNodes === "all" };
}

/** Returns all simulated nodes of a cluster. */
export function simulatedNodes(config: Chosen, fleet: Fleet | undefined): readonly SimulatedNode[] {
  if (fleet === undefined) return countedNodes(config).map((name) => ({ name }));
  return fleet.nodes.filter(({ simulated }) => simulated);
}

const rbac = "rbac.authorization.k8s.io";
const leaseNamespace = "kube-node-lease";

/**
 * Permissions of the simulation of nodes: exactly those that the kubelets of all of them use. It is one user,
 * since thousands of certificates and watches would cost more than the nodes; to impersonate each
 * `system:node:NAME` it would need permissions for all users.
 */
const clusterRules = [
  { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "watch", "create"] },
  { apiGroups: [""], resources: ["nodes/status", "pods/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch", "delete"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  { apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"], verbs: ["list", "watch"] },
];
const leaseRules = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create", "patch"] },
];

/** Grants the permissions of the user that simulates nodes. */
export async function allowSimulatedNodes(client: Client): Promise<void> {
  const apply = <T extends KubeObject>(kind: Kind<T>, object: object): Promise<T> =>
    client.resource(kind).apply(object as never, { fieldManager: "dray-simulated-nodes", force: true });
  const name = simulatedNodesUser;
  const subjects = [{ kind: "User", apiGroup: rbac, name }];
  const roleRef = (kind: string) => ({ apiGroup: rbac, kind, name });
  const metadata = { namespace: leaseNamespace, name };
  await apply(ClusterRole, { metadata: { name }, rules: clusterRules });
  await apply(ClusterRoleBinding, { metadata: { name }, subjects, roleRef: roleRef("ClusterRole") });
  await apply(Role, { metadata, rules: leaseRules });
  await apply(RoleBinding, { metadata, subjects, roleRef: roleRef("Role") });
}

/** Deletes unwanted simulated nodes of an earlier start and their pods, which no kubelet would end. */
export async function removeFormerNodes(client: Client, wanted: ReadonlySet<string>): Promise<void> {
  const { items } = await client.resource(Node).list({ labelSelector: simulatedLabel });
  const gone = new Set(items.map(({ metadata }) => metadata.name).filter((name) => !wanted.has(name)));
  if (gone.size === 0) return;
  for (const name of gone) await client.resource(Node).delete({ name }).catch(ifMissing);
  // After the nodes, so that DaemonSets do not create new pods there.
  const pods = await client.resource(Pod).list({ fieldSelector: "spec.nodeName!=" });
  for (const { metadata, spec } of pods.items) {
    if (!gone.has(spec.nodeName ?? "")) continue;
    const { namespace = "", name, uid } = metadata;
    await client
      .resource(Pod)
      .delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } })
      .catch(ifMissing);
  }
}

function ifMissing(error: unknown): void {
  if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
}
