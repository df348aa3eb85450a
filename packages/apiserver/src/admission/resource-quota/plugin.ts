import { type KubeObject, StatusError } from "@dray/api";
import type { Pod, ResourceQuota } from "@dray/api/core/v1";
import { listOf } from "@dray/api/pod";
import {
  type Balance,
  balanceOf,
  charge,
  type QuotaEvaluator,
  type QuotaLookup,
  quotaEvaluators,
} from "@dray/api/quota";
import type { DeviceClass, ResourceClaim } from "@dray/api/resource/v1";
import { forbidden } from "../../errors/status.ts";
import { requiredResource } from "../../kinds/resources.ts";
import { objectKey } from "../../storage/keys.ts";
import type { AdmissionPlugin, AdmissionRequest } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";

/** A write that waits for the outcome of its round. */
interface Waiting {
  readonly request: AdmissionRequest;
  readonly object: KubeObject;
  readonly evaluator: QuotaEvaluator;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const attempts = 4;
/**
 * Charges writes to the quotas of their namespace before they are executed, so that status.used never lags
 * and concurrent writes cannot exceed the limit together (core/v1 ResourceQuota). The quota controller
 * releases the usage of deleted objects. Writes to a namespace that arrive while one round is being stored
 * share the next round.
 */
export function resourceQuota(context: AdmissionContext): AdmissionPlugin {
  const quotas = context.storage.cache("resourcequotas");
  const evaluatorOf = quotaEvaluators(lookupOf(context), {
    extendedResources: context.features.enabled("DRAExtendedResource"),
  });
  const queues = new Map<string, Waiting[]>();

  async function work(namespace: string, queue: Waiting[]): Promise<void> {
    while (queue.length > 0) {
      const round = queue.splice(0);
      try {
        await chargeRound(context, namespace, round);
      } catch (error) {
        for (const { reject } of round) reject(error);
      }
    }
    queues.delete(namespace);
  }

  return {
    validate(request) {
      const { served, namespace, operation, object, old, subresource } = request;
      if (operation !== "CREATE" && operation !== "UPDATE") return undefined;
      if (namespace === "" || !served.namespaced || object === undefined) return undefined;
      const first = quotas.range(`${quotas.prefix}${namespace}/`).next();
      if (first.done) return undefined;
      const evaluator = evaluatorOf(served.group, served.resource);
      if (!evaluator?.handles({ operation, subresource, object, ...(old ? { old } : {}) })) return undefined;
      return new Promise((resolve, reject) => {
        const waiting = { request, object, evaluator, resolve, reject };
        const queue = queues.get(namespace);
        if (queue !== undefined) {
          queue.push(waiting);
          return;
        }
        const own = [waiting];
        queues.set(namespace, own);
        void work(namespace, own);
      });
    },
  };
}

/** Charges all writes of a round in order and stores the sums; then settles all of them. */
async function chargeRound(context: AdmissionContext, namespace: string, round: Waiting[]): Promise<void> {
  const cache = context.storage.cache("resourcequotas");
  const charged = new Set<Waiting>(round);
  // Quotas whose sums could not be stored because of a conflict.
  let open: ReadonlySet<string> | undefined;
  for (let attempt = 1; ; attempt++) {
    const balances = [...cache.range(`${cache.prefix}${namespace}/`)]
      .map(({ object }) => object as ResourceQuota)
      .filter(({ metadata }) => open?.has(metadata.name) ?? true)
      .map(balanceOf);
    const before = balances.map(({ used }) => used);
    for (const waiting of charged) {
      const why = chargeOne(balances, waiting);
      if (why === undefined) continue;
      charged.delete(waiting);
      waiting.reject(forbidden(waiting.request.served, waiting.request.name, why));
    }
    const changed = balances.filter(({ used }, index) => used !== before[index]);
    const results = await Promise.all(
      changed.map(({ quota, used }) =>
        store(context, { ...quota, status: { ...quota.status, used: listOf(used) } }),
      ),
    );
    open = new Set(changed.filter((_, index) => !results[index]).map(({ quota }) => quota.metadata.name));
    if (open.size === 0) break;
    if (attempt === attempts) {
      throw StatusError.of("Conflict", "the status of a quota is changed by too many at the same time");
    }
  }
  for (const { resolve } of charged) resolve();
}

function chargeOne(balances: Balance[], { request, object, evaluator }: Waiting): string | undefined {
  const { operation, subresource, old, dryRun } = request;
  const write = { operation, subresource, object, ...(old ? { old } : {}) };
  return charge(dryRun ? balances.map((balance) => ({ ...balance })) : balances, evaluator, write);
}

/** Stores a quota's status unless the quota has been changed in the meantime; resolves to true if stored. */
function store({ resources, storeStatus }: AdmissionContext, quota: ResourceQuota): Promise<boolean> {
  const served = requiredResource(resources, { group: "", resource: "resourcequotas" });
  // A deleted quota restricts nothing: the next attempt does not find it.
  return storeStatus(served, quota);
}

function lookupOf({ storage, now, features }: AdmissionContext): QuotaLookup {
  function* all<T>(resource: string, namespace?: string): Generator<T> {
    const cache = storage.cache(resource);
    const prefix = namespace === undefined ? cache.prefix : `${cache.prefix}${namespace}/`;
    for (const { object } of cache.range(prefix)) yield object as T;
  }
  return {
    deviceClasses: () => all<DeviceClass>("deviceclasses"),
    claims: (namespace) => all<ResourceClaim>("resourceclaims", namespace),
    pod: (namespace, name) =>
      storage.cache("pods").get(objectKey("pods", namespace, name))?.object as Pod | undefined,
    now,
    version: features.version,
  };
}
