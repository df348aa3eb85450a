import { type Kind, type KubeObject, StatusError } from "@dray/api";
import { Namespace, Node } from "@dray/api/core/v1";
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "@dray/api/rbac/v1";
import { DeviceClass, ResourceSlice } from "@dray/api/resource/v1";
import type { Client, Log } from "@dray/client";
import { driversUser } from "@dray/cluster";
import { type Fleet, healthNamespace } from "@dray/driver-simulated";

const fieldManager = "dray-fleet";
/** Label of the classes of a fleet, which are deleted with it. */
const fleetLabel = "dray.dev/fleet";

const rbac = "rbac.authorization.k8s.io";

/**
 * Creates the namespace of health records, the permissions of the drivers, and the classes of the fleet;
 * deletes classes of an earlier one.
 */
export async function installFleet(client: Client, fleet: Fleet): Promise<void> {
  const apply = <T extends KubeObject>(kind: Kind<T>, object: object): Promise<T> =>
    client.resource(kind).apply(object as never, { fieldManager, force: true });
  await removeOldSlices(client, fleet);
  const drivers = fleet.network.map(({ name }) => name).join(",");
  await apply(Namespace, {
    metadata: { name: healthNamespace, annotations: { [networkAnnotation]: drivers } },
  });
  const name = driversUser;
  const subjects = [{ kind: "User", apiGroup: rbac, name }];
  await apply(ClusterRole, { metadata: { name }, rules: clusterRules });
  await apply(ClusterRoleBinding, {
    metadata: { name },
    subjects,
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
  });
  const metadata = { namespace: healthNamespace, name };
  await apply(Role, { metadata, rules: namespaceRules });
  await apply(RoleBinding, { metadata, subjects, roleRef: { apiGroup: rbac, kind: "Role", name } });
  for (const { metadata, spec } of fleet.deviceClasses)
    await apply(DeviceClass, {
      metadata: { ...metadata, labels: { ...metadata?.labels, [fleetLabel]: "" } },
      spec,
    }).catch((error: Error) => {
      throw new Error(`DeviceClass ${metadata?.name} of the fleet: ${error.message}`, { cause: error });
    });
  await removeOldClasses(client, fleet);
}

/**
 * Annotation of the namespace: the drivers whose slices have no node, so that only their process deletes
 * them.
 */
const networkAnnotation = "dray.dev/network-drivers";

async function removeOldSlices(client: Client, fleet: Fleet): Promise<void> {
  const wanted = new Set(fleet.network.map(({ name }) => name));
  for (const driver of await networkDrivers(client))
    if (!wanted.has(driver))
      await client
        .resource(ResourceSlice)
        .deleteCollection({ fieldSelector: `spec.driver=${driver},spec.nodeName=` });
}

async function networkDrivers(client: Client): Promise<string[]> {
  try {
    const { metadata } = await client.resource(Namespace).get({ name: healthNamespace });
    return (metadata.annotations?.[networkAnnotation] ?? "").split(",").filter((name) => name !== "");
  } catch (error) {
    if (StatusError.is(error, "NotFound")) return [];
    throw error;
  }
}

/** Removes the objects of `installFleet`; health records that people have set stay. */
export async function uninstallFleet(client: Client): Promise<void> {
  const none: Fleet = { nodes: [], network: [], deviceClasses: [], notes: [], node: () => undefined };
  await removeOldSlices(client, none);
  await removeOldClasses(client, none);
}

async function removeOldClasses(client: Client, fleet: Fleet): Promise<void> {
  const wanted = new Set(fleet.deviceClasses.map(({ metadata }) => metadata?.name));
  const { items } = await client.resource(DeviceClass).list({ labelSelector: fleetLabel });
  for (const { metadata } of items) {
    if (wanted.has(metadata.name)) continue;
    await client
      .resource(DeviceClass)
      .delete({ name: metadata.name }, { preconditions: { uid: metadata.uid } })
      .catch((error: unknown) => {
        if (!StatusError.is(error, "NotFound")) throw error;
      });
  }
}

const reads = ["get", "list", "watch"];
const clusterRules = [
  {
    apiGroups: ["resource.k8s.io"],
    resources: ["resourceslices"],
    verbs: [...reads, "create", "update", "patch", "delete"],
  },
  { apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"], verbs: [...reads, "update"] },
  { apiGroups: ["resource.k8s.io"], resources: ["resourceclaims/status"], verbs: ["update", "patch"] },
  // Granular authorization of the status (KEP-4817, 1.36).
  {
    apiGroups: ["resource.k8s.io"],
    resources: ["resourceclaims/driver"],
    verbs: ["arbitrary-node:update", "arbitrary-node:patch"],
  },
  { apiGroups: [""], resources: ["nodes"], verbs: reads },
];
const namespaceRules = [
  { apiGroups: [""], resources: ["configmaps"], verbs: reads },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
];

/**
 * Sets the labels of the fleet on each node when it is registered, and again after its deletion. Works as the
 * administrator: a node may not set all labels of real nodes. Later changes of labels are kept.
 */
export function labelNodes(client: Client, fleet: Fleet, log: Log, signal: AbortSignal): void {
  const label = async ({ metadata }: Node): Promise<void> => {
    const wanted = fleet.node(metadata.name)?.labels ?? {};
    const missing = Object.entries(wanted).filter(([key, value]) => metadata.labels?.[key] !== value);
    if (missing.length === 0) return;
    try {
      const labels = Object.fromEntries(missing);
      await client
        .resource(Node)
        .patch({ name: metadata.name }, "merge", { metadata: { labels } }, { fieldManager });
    } catch (error) {
      if (!signal.aborted) log.error({ node: metadata.name, err: error }, "the node could not be labelled");
    }
  };
  const nodes = client.informer(Node);
  nodes.handle({ add: (node) => void label(node) });
  nodes.start(signal).catch((error: Error) => log.error({ err: error }, "the nodes cannot be labelled"));
}
