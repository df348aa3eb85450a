import { type KubeObject, StatusError } from "@dray/api";
import { Namespace, type NamespaceCondition } from "@dray/api/core/v1";
import { timeText } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../context.ts";
import { withCondition, writeStatus } from "../status.ts";
import type { ServedResource, ServedResources } from "./resources.ts";

const finalizer = "kubernetes";

/** Empties namespaces that are being deleted, the pods first (KEP-5080), and lets them go when nothing is left. */
export async function startNamespaceController(
  context: ControllerContext,
  resources: ServedResources,
): Promise<Controller> {
  const { client, clock, informers } = context;
  const namespaces = informers.of(Namespace);
  await synced(context, [namespaces]);

  const queues = controllerQueues(context);
  const queue = queues.queue("namespace", reconcile);
  const isGoing = (namespace: Namespace | undefined): namespace is Namespace =>
    namespace?.metadata.deletionTimestamp !== undefined &&
    namespace.spec.finalizers?.includes(finalizer) === true;
  const changed = (namespace: Namespace): void => {
    if (isGoing(namespace)) queue.add(namespace.metadata.name);
  };
  namespaces.handle({ add: changed, update: changed });
  /** Something went away, or came although it should not: look again. */
  const contentChanged = (object: KubeObject): void => {
    const { namespace } = object.metadata;
    if (namespace !== undefined && isGoing(namespaces.get({ name: namespace }))) queue.add(namespace);
  };
  await resources.follow(({ kind }, informer) =>
    kind.namespaced ? informer.handle({ add: contentChanged, delete: contentChanged }) : () => {},
  );

  async function reconcile(name: string): Promise<void> {
    const namespace = namespaces.get({ name });
    if (!isGoing(namespace)) return;
    // Asked anew each time: a kind may have come a moment ago, with objects that nobody else would delete.
    await resources.refresh();
    const contents = resources.list.filter(({ kind }) => kind.namespaced);
    const pods = contents.filter(({ kind }) => kind.group === "" && kind.resource === "pods");
    const others = contents.filter((resource) => !pods.includes(resource));
    const failures: string[] = [];
    let left: Map<ServedResource, readonly KubeObject[]> = new Map();
    for (const stage of [pods, others]) {
      left = await empty(name, stage, failures);
      if (left.size > 0 || failures.length > 0) break;
    }
    if (left.size === 0 && failures.length === 0) {
      const finalizers = namespace.spec.finalizers?.filter((kept) => kept !== finalizer) ?? [];
      try {
        await client
          .resource(Namespace)
          .update({ ...namespace, spec: { ...namespace.spec, finalizers } }, { subresource: "finalize" });
      } catch (error) {
        if (!StatusError.is(error, "NotFound")) throw error;
      }
      return;
    }
    await tell(namespace, left, failures);
    // What is left goes by itself and is heard of; what could not be deleted has to be tried again.
    if (failures.length > 0) throw new Error(`cannot empty namespace ${name}: ${failures.join("; ")}`);
  }

  /** Deletes everything of these kinds. Returns what the server still has. */
  async function empty(
    namespace: string,
    kinds: readonly ServedResource[],
    failures: string[],
  ): Promise<Map<ServedResource, readonly KubeObject[]>> {
    const left = new Map<ServedResource, readonly KubeObject[]>();
    await Promise.all(
      kinds.map(async (resource) => {
        const objects = client.resource(resource.kind, { ignoreWarnings: true });
        const options = { propagationPolicy: "Background" } as const;
        try {
          // Asked of the server, not the cache: something may have been made a moment ago.
          const { items } = await objects.list({ namespace });
          if (items.length === 0) return;
          const fresh = items.filter((item) => item.metadata.deletionTimestamp === undefined);
          if (fresh.length > 0 && resource.deleteCollection)
            await objects.deleteCollection({ namespace }, options);
          else
            for (const item of fresh) await objects.delete({ namespace, name: item.metadata.name }, options);
          const after = fresh.length === 0 ? items : (await objects.list({ namespace })).items;
          if (after.length > 0) left.set(resource, after);
        } catch (error) {
          if (StatusError.is(error, "NotFound")) return;
          failures.push(
            `${resource.kind.resource}: ${error instanceof Error ? error.message : String(error)}`,
          );
        }
      }),
    );
    return left;
  }

  /** Says in the status what holds the deletion up. */
  async function tell(
    namespace: Namespace,
    left: ReadonlyMap<ServedResource, readonly KubeObject[]>,
    failures: readonly string[],
  ): Promise<void> {
    const counts: string[] = [];
    const finalizers = new Map<string, number>();
    for (const [{ kind }, objects] of left) {
      const name = kind.group === "" ? kind.resource : `${kind.resource}.${kind.group}`;
      counts.push(`${name} has ${objects.length} resource instances`);
      for (const held of objects.flatMap(({ metadata }) => metadata.finalizers ?? []))
        finalizers.set(held, (finalizers.get(held) ?? 0) + 1);
    }
    const held = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`);
    const facts: readonly [string, boolean, string, string, string][] = [
      [
        "NamespaceDeletionDiscoveryFailure",
        false,
        "",
        "ResourcesDiscovered",
        "All resources successfully discovered",
      ],
      [
        "NamespaceDeletionGroupVersionParsingFailure",
        false,
        "",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
      ],
      [
        "NamespaceDeletionContentFailure",
        failures.length > 0,
        "ContentDeletionFailed",
        "ContentDeleted",
        failures.length > 0
          ? `Failed to delete all resource types, ${failures.length} remaining: ${failures.join("; ")}`
          : "All content successfully deleted, may be waiting on finalization",
      ],
      [
        "NamespaceContentRemaining",
        counts.length > 0,
        "SomeResourcesRemain",
        "ContentRemoved",
        counts.length > 0
          ? `Some resources are remaining: ${counts.sort().join(", ")}`
          : "All content successfully removed",
      ],
      [
        "NamespaceFinalizersRemaining",
        held.length > 0,
        "SomeFinalizersRemain",
        "ContentHasNoFinalizers",
        held.length > 0
          ? `Some content in the namespace has finalizers remaining: ${held.sort().join(", ")}`
          : "All content-preserving finalizers finished",
      ],
    ];
    let conditions: NamespaceCondition[] = [...(namespace.status?.conditions ?? [])];
    for (const [type, holds, bad, good, message] of facts) {
      const condition = { type, status: holds ? "True" : "False", reason: holds ? bad : good, message };
      conditions = withCondition(conditions, condition, timeText(clock.now()));
    }
    try {
      await writeStatus(client, Namespace, namespace, {
        ...namespace.status,
        phase: "Terminating",
        conditions,
      });
    } catch (error) {
      // Someone else wrote it: that will be heard of.
      if (!StatusError.is(error, "Conflict") && !StatusError.is(error, "NotFound")) throw error;
    }
  }

  return queues.controller;
}
