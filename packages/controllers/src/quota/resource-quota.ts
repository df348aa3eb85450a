import { type KubeObject, StatusError } from "@dray/api";
import { PersistentVolumeClaim, Pod, ResourceQuota, Service } from "@dray/api/core/v1";
import { type CountedResource, quotaEvaluators, quotaStatus } from "@dray/api/quota";
import { DeviceClass, ResourceClaim } from "@dray/api/resource/v1";
import type { Informer } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../context.ts";
import type { ServedResource, ServedResources } from "../deletion/resources.ts";

/** Milliseconds after which everything is counted again, whatever has been seen. */
const resync = 5 * 60_000;
/** Objects whose charge changes while they live: a pod ends, a service gives up a port, a claim grows. */
const changing = new Set([Pod, Service, PersistentVolumeClaim].map(({ resource }) => resource));

/**
 * Keeps the status of quotas: their limits, and how much of them is used. Admission charges what is created; here is
 * given back what has been deleted (kube-controller-manager's resourcequota controller).
 */
export async function startResourceQuotaController(
  context: ControllerContext,
  resources: ServedResources,
): Promise<Controller> {
  const { client, clock, features, informers, signal } = context;
  const quotas = informers.of(ResourceQuota);
  const pods = informers.of(Pod);
  const classes = informers.of(DeviceClass);
  const claims = informers.of(ResourceClaim);
  /** Resources with a complete cache: only those can be counted. */
  const counted = new Map<ServedResource, Informer<KubeObject>>();
  await synced(context, [quotas, pods, classes, claims]);

  const evaluatorOf = quotaEvaluators(
    {
      deviceClasses: () => classes.list(),
      claims: (namespace) => inNamespace(claims.list(), namespace),
      pod: (namespace, name) => pods.get({ namespace, name }),
      now: () => clock.now(),
      version: features.version,
    },
    { extendedResources: features.enabled("DRAExtendedResource") },
  );
  const queues = controllerQueues(context);
  const queue = queues.queue("resourcequota", reconcile);
  const quotaChanged = (quota: ResourceQuota): void => queue.add(quota.metadata.namespace);
  let loaded = false;
  await resources.follow((resource, informer) => {
    const { group, resource: name, namespaced } = resource.kind;
    if (!namespaced) return () => {};
    counted.set(resource, informer);
    // What came later is counted now: until then its names in quotas had no number.
    const evaluator = evaluatorOf(group, name);
    if (loaded && evaluator !== undefined) {
      for (const quota of quotas.list())
        if (evaluator.matching(Object.keys(quota.spec?.hard ?? {})).length > 0) quotaChanged(quota);
    }
    const changed = (object: { metadata: { namespace?: string } }): void => {
      const { namespace } = object.metadata;
      if (namespace && inNamespace(quotas.list(), namespace).length > 0) queue.add(namespace);
    };
    const leave = informer.handle({
      delete: changed,
      ...(changing.has(name) ? { update: changed } : {}),
    });
    return () => {
      leave();
      counted.delete(resource);
    };
  });
  loaded = true;
  quotas.handle({
    add: quotaChanged,
    update: (quota, old) => {
      // What admission charges is in the status already, but not yet in every cache: to count then would lose it.
      if (!sameList(quota.spec?.hard, old.spec?.hard)) quotaChanged(quota);
    },
  });
  const countAll = (): void => {
    if (signal.aborted) return;
    for (const quota of quotas.list()) quotaChanged(quota);
    clock.after(resync, countAll);
  };
  clock.after(resync, countAll);

  async function reconcile(namespace: string): Promise<void> {
    const listed: CountedResource[] = [...counted].flatMap(([{ kind }, informer]) => {
      const evaluator = evaluatorOf(kind.group, kind.resource);
      const objects = () => inNamespace(informer.list(), namespace);
      return evaluator === undefined ? [] : [{ evaluator, objects }];
    });
    for (const quota of inNamespace(quotas.list(), namespace)) {
      const status = quotaStatus(quota, listed);
      if (sameList(status.hard, quota.status?.hard) && sameList(status.used, quota.status?.used)) continue;
      try {
        await client.resource(ResourceQuota).update({ ...quota, status }, { subresource: "status" });
      } catch (error) {
        if (StatusError.is(error, "NotFound")) continue;
        if (!StatusError.is(error, "Conflict")) throw error;
        // Admission has charged something in between. Its change of the status adds no key: count again.
        queue.addRateLimited(namespace);
      }
    }
  }

  return queues.controller;
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
