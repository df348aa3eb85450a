import { type KubeObject, StatusError } from "@dray/api";
import { Namespace } from "@dray/api/core/v1";
import { type Informer, timeText } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import type { ServedResource, ServedResources } from "../shared/served-resources.ts";
import { writeStatus } from "../shared/status.ts";
import { deletionConditions, type NamespaceContents } from "./conditions.ts";

const finalizer = "kubernetes";

/**
 * Empties namespaces that are being deleted, the pods first (KEP-5080), and lets them go when nothing is
 * left.
 */
export async function startNamespaceController(
  context: ControllerContext,
  resources: ServedResources,
): Promise<Controller> {
  const namespaces = context.informers.of(Namespace);
  await synced(context, [namespaces]);

  const deletion = new NamespaceDeletion(context, namespaces, resources);
  const queues = controllerQueues(context);
  const queue = queues.queue("namespace", (name) => deletion.reconcile(name));
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
  return queues.controller;
}

function isGoing(namespace: Namespace | undefined): namespace is Namespace {
  return (
    namespace?.metadata.deletionTimestamp !== undefined &&
    namespace.spec.finalizers?.includes(finalizer) === true
  );
}

class NamespaceDeletion {
  readonly #context: ControllerContext;
  readonly #namespaces: Informer<Namespace>;
  readonly #resources: ServedResources;

  constructor(context: ControllerContext, namespaces: Informer<Namespace>, resources: ServedResources) {
    this.#context = context;
    this.#namespaces = namespaces;
    this.#resources = resources;
  }

  async reconcile(name: string): Promise<void> {
    const namespace = this.#namespaces.get({ name });
    if (!isGoing(namespace)) return;
    const contents = await this.#empty(name);
    const { left, failures, unread } = contents;
    if (left.size === 0 && failures.length === 0 && unread.length === 0) return this.#finalize(namespace);
    await this.#report(namespace, contents);
    // Deletions in progress are watched; failed ones have to be tried again.
    if (failures.length > 0) throw new Error(`cannot empty namespace ${name}: ${failures.join("; ")}`);
    if (unread.length > 0)
      throw new Error(`cannot empty namespace ${name}: what is in ${unread.join(", ")} is not known`);
  }

  /** Deletes the pods, and everything else when they are gone. */
  async #empty(name: string): Promise<NamespaceContents> {
    // Read each time: a new kind may have objects that nothing else would delete.
    await this.#resources.refresh();
    const contents = this.#resources.list.filter(({ kind }) => kind.namespaced);
    const pods = contents.filter(({ kind }) => kind.group === "" && kind.resource === "pods");
    const others = contents.filter((resource) => !pods.includes(resource));
    const first = await this.#deleteAll(name, pods);
    const found =
      first.left.size > 0 || first.failures.length > 0 ? first : await this.#deleteAll(name, others);
    return { ...found, unread: this.#resources.unread };
  }

  /** Deletes everything of these kinds. Returns what the server still has. */
  async #deleteAll(
    namespace: string,
    kinds: readonly ServedResource[],
  ): Promise<Omit<NamespaceContents, "unread">> {
    const left = new Map<ServedResource, readonly KubeObject[]>();
    const failures: string[] = [];
    await Promise.all(
      kinds.map(async (resource) => {
        try {
          const after = await this.#deleteKind(namespace, resource);
          if (after.length > 0) left.set(resource, after);
        } catch (error) {
          if (StatusError.is(error, "NotFound")) return;
          const text = error instanceof Error ? error.message : String(error);
          failures.push(`${resource.kind.resource}: ${text}`);
        }
      }),
    );
    return { left, failures };
  }

  async #deleteKind(
    namespace: string,
    { kind, deleteCollection }: ServedResource,
  ): Promise<readonly KubeObject[]> {
    const objects = this.#context.client.resource(kind, { ignoreWarnings: true });
    const options = { propagationPolicy: "Background" } as const;
    // Asked of the server, not the cache: something may have been made a moment ago.
    const { items } = await objects.list({ namespace });
    const fresh = items.filter((item) => item.metadata.deletionTimestamp === undefined);
    if (fresh.length === 0) return items;
    if (deleteCollection) await objects.deleteCollection({ namespace }, options);
    else for (const item of fresh) await objects.delete({ namespace, name: item.metadata.name }, options);
    return (await objects.list({ namespace })).items;
  }

  async #finalize(namespace: Namespace): Promise<void> {
    const finalizers = namespace.spec.finalizers?.filter((kept) => kept !== finalizer) ?? [];
    try {
      await this.#context.client
        .resource(Namespace)
        .update({ ...namespace, spec: { ...namespace.spec, finalizers } }, { subresource: "finalize" });
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
  }

  /** Says in the status what holds the deletion up. */
  async #report(namespace: Namespace, contents: NamespaceContents): Promise<void> {
    const { client, clock } = this.#context;
    const { status } = namespace;
    const conditions = deletionConditions(status?.conditions, contents, timeText(clock.now()));
    try {
      await writeStatus(client, Namespace, namespace, { ...status, phase: "Terminating", conditions });
    } catch (error) {
      // Someone else wrote it: that will be heard of.
      if (!StatusError.is(error, "Conflict") && !StatusError.is(error, "NotFound")) throw error;
    }
  }
}
