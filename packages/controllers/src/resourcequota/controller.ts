import { type KubeObject, StatusError } from "@dray/api";
import { Pod, ResourceQuota } from "@dray/api/core/v1";
import { type CountedResource, quotaEvaluators, quotaStatus } from "@dray/api/quota";
import { DeviceClass, ResourceClaim } from "@dray/api/resource/v1";
import type { Informer, WorkQueue } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import type { ServedResource, ServedResources } from "../shared/served-resources.ts";
import { changesCount, isChangeable } from "./charge-change.ts";

/** Milliseconds after which everything is counted again, whatever has been seen. */
const resync = 5 * 60_000;
/**
 * Milliseconds by which a cache may be behind that of quotas. An object that comes so soon after a count may
 * have been charged by admission already, and missed by the count: then it is counted again.
 */
const lateness = 10_000;
const recountDelay = 1_000;

/**
 * Keeps the status of quotas: their limits, and how much of them is used. Admission charges what is created;
 * here is given back what has been deleted.
 *
 * Upstream: pkg/controller/resourcequota.
 */
export async function startResourceQuotaController(
  context: ControllerContext,
  resources: ServedResources,
): Promise<Controller> {
  const { clock, informers, signal } = context;
  const quotas = informers.of(ResourceQuota);
  await synced(context, [quotas, informers.of(Pod), informers.of(DeviceClass), informers.of(ResourceClaim)]);

  const queues = controllerQueues(context);
  const count = new QuotaCount(context, quotas, () => queue);
  const queue = queues.queue("resourcequota_primary", (namespace) => count.reconcile(namespace));
  await resources.follow((resource, informer) => count.follow(resource, informer));
  count.loaded();
  const quotaChanged = ({ metadata }: ResourceQuota): void => queue.add(metadata.namespace);
  quotas.handle({
    add: quotaChanged,
    update: (quota, old) => {
      // The status has what admission charges, but not yet every cache: counting now would lose it.
      if (!sameList(quota.spec?.hard, old.spec?.hard)) quotaChanged(quota);
    },
    delete: ({ metadata }) => count.forget(metadata.namespace),
  });
  const countAll = (): void => {
    if (signal.aborted) return;
    for (const quota of quotas.list()) quotaChanged(quota);
    clock.after(resync, countAll);
  };
  clock.after(resync, countAll);
  return queues.controller;
}

/** Counts what the objects of a namespace take of its quotas, and notes which changes ask for a count. */
class QuotaCount {
  readonly #context: ControllerContext;
  readonly #quotas: Informer<ResourceQuota>;
  readonly #queue: () => WorkQueue;
  readonly #evaluatorOf: ReturnType<typeof quotaEvaluators>;
  /** Resources with a complete cache: only those can be counted. */
  readonly #counted = new Map<ServedResource, Informer<KubeObject>>();
  /** When the quotas of a namespace were last counted, in milliseconds since the epoch. */
  readonly #lastCounts = new Map<string, number>();
  #loaded = false;

  constructor(context: ControllerContext, quotas: Informer<ResourceQuota>, queue: () => WorkQueue) {
    const { clock, features, informers } = context;
    this.#context = context;
    this.#quotas = quotas;
    this.#queue = queue;
    this.#evaluatorOf = quotaEvaluators(
      {
        deviceClasses: () => informers.of(DeviceClass).list(),
        claims: (namespace) => inNamespace(informers.of(ResourceClaim).list(), namespace),
        pod: (namespace, name) => informers.of(Pod).get({ namespace, name }),
        now: () => clock.now(),
        version: features.version,
      },
      { extendedResources: features.enabled("DRAExtendedResource") },
    );
  }

  /** All caches that there are now have been followed. */
  loaded(): void {
    this.#loaded = true;
  }

  forget(namespace: string): void {
    this.#lastCounts.delete(namespace);
  }

  follow(resource: ServedResource, informer: Informer<KubeObject>): () => void {
    const { group, resource: name, namespaced } = resource.kind;
    const evaluator = this.#evaluatorOf(group, name);
    if (!namespaced || evaluator === undefined) return () => {};
    this.#counted.set(resource, informer);
    const restricts = ({ spec }: ResourceQuota): boolean =>
      evaluator.matching(Object.keys(spec?.hard ?? {})).length > 0;
    // New resources are counted now: until then quotas had no usage for them.
    if (this.#loaded)
      for (const quota of this.#quotas.list())
        if (restricts(quota)) this.#queue().add(quota.metadata.namespace);
    const changed = (object: KubeObject): void => {
      const namespace = namespaceOf(object);
      if (inNamespace(this.#quotas.list(), namespace).some(restricts)) this.#queue().add(namespace);
    };
    const leave = informer.handle({
      add: (object) => this.#added(object),
      delete: changed,
      update(object, old) {
        if (group === "" && isChangeable(name) && changesCount(name, evaluator, object, old)) changed(object);
      },
    });
    return () => {
      leave();
      this.#counted.delete(resource);
    };
  }

  #added(object: KubeObject): void {
    const namespace = namespaceOf(object);
    const last = this.#lastCounts.get(namespace) ?? Number.NEGATIVE_INFINITY;
    if (this.#loaded && last + lateness > this.#context.clock.now())
      this.#queue().addAfter(namespace, recountDelay);
  }

  async reconcile(namespace: string): Promise<void> {
    const { client, clock } = this.#context;
    this.#lastCounts.set(namespace, clock.now());
    const listed: CountedResource[] = [...this.#counted].flatMap(([{ kind }, informer]) => {
      const evaluator = this.#evaluatorOf(kind.group, kind.resource);
      const objects = () => inNamespace(informer.list(), namespace);
      return evaluator === undefined ? [] : [{ evaluator, objects }];
    });
    for (const quota of inNamespace(this.#quotas.list(), namespace)) {
      const status = quotaStatus(quota, listed);
      if (sameList(status.hard, quota.status?.hard) && sameList(status.used, quota.status?.used)) continue;
      try {
        await client.resource(ResourceQuota).update({ ...quota, status }, { subresource: "status" });
      } catch (error) {
        if (StatusError.is(error, "NotFound")) continue;
        if (!StatusError.is(error, "Conflict")) throw error;
        // Admission has charged something in between. Its change of the status adds no key: count again.
        this.#queue().addRateLimited(namespace);
      }
    }
  }
}

function namespaceOf({ metadata }: { metadata: { namespace?: string } }): string {
  return metadata.namespace ?? "";
}

function inNamespace<T extends { metadata: { namespace?: string } }>(
  objects: readonly T[],
  namespace: string,
): T[] {
  return objects.filter(({ metadata }) => metadata.namespace === namespace);
}

type List = Readonly<Record<string, string>>;

function sameList(left: List = {}, right: List = {}): boolean {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}
