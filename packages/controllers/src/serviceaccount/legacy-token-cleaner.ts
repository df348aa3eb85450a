import { StatusError } from "@dray/api";
import { ConfigMap, Pod, Secret, ServiceAccount } from "@dray/api/core/v1";
import { podReferences } from "@dray/apiserver/objects";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { refTo } from "../shared/status.ts";
import { accountNameAnnotation, accountUidAnnotation, tokenSecretType } from "./token-controller.ts";

const day = 24 * 60 * 60_000;
/** Upstream: --legacy-service-account-token-clean-up-period. */
const cleanUpPeriod = 365 * day;
const lastUsedLabel = "kubernetes.io/legacy-token-last-used";
const invalidSinceLabel = "kubernetes.io/legacy-token-invalid-since";
const tracking = { namespace: "kube-system", name: "kube-apiserver-legacy-service-account-token-tracking" };

/**
 * Marks tokens that older releases made for each service account as invalid after a year without use, and
 * deletes them a year later (KEP-2799). Looks once a day.
 *
 * Upstream: pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go.
 */
export async function startLegacyTokenCleaner(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const secrets = informers.of(Secret);
  const accounts = informers.of(ServiceAccount);
  const pods = informers.of(Pod);
  const maps = informers.of(ConfigMap);
  await synced(context, [secrets, accounts, pods, maps]);
  const queues = controllerQueues(context);
  const queue = queues.queue("legacy-serviceaccount-token-cleaner", clean, 1);
  queue.add("all");

  async function clean(key: string): Promise<void> {
    queue.addAfter(key, day);
    const since = Date.parse(maps.get(tracking)?.data?.["since"] ?? "");
    // From the day after tracking began: before, uses are unknown.
    if (Number.isNaN(since) || clock.now() < since + day + cleanUpPeriod) return;
    for (const secret of secrets.list()) if (isUnused(secret)) await invalidate(secret);
  }

  function isUnused(secret: Secret): boolean {
    const { metadata, type } = secret;
    if (type !== tokenSecretType || metadata.deletionTimestamp !== undefined) return false;
    if (Date.parse(metadata.creationTimestamp) >= clock.now() - cleanUpPeriod) return false;
    const used = metadata.labels?.[lastUsedLabel];
    if (used !== undefined && (!isDate(used) || used >= oldest())) return false;
    return isReferenced(secret) && !isMounted(secret);
  }

  /** Only tokens that were made for it does an account name. */
  function isReferenced({ metadata }: Secret): boolean {
    const { namespace, name, annotations = {} } = metadata;
    const account = accounts.get({ namespace, name: annotations[accountNameAnnotation] ?? "" });
    const uid = annotations[accountUidAnnotation];
    if (account === undefined || (uid && account.metadata.uid !== uid)) return false;
    return (account.secrets ?? []).some((reference) => reference.name === name);
  }

  function isMounted({ metadata }: Secret): boolean {
    return pods
      .byIndex("namespace", metadata.namespace)
      .some((pod) =>
        podReferences(pod).some(([resource, name]) => resource === "secrets" && name === metadata.name),
      );
  }

  async function invalidate(secret: Secret): Promise<void> {
    const { uid, resourceVersion, labels } = secret.metadata;
    const since = labels?.[invalidSinceLabel] ?? "";
    try {
      if (!isDate(since)) {
        const today = dateOf(clock.now());
        const metadata = { uid, labels: { [invalidSinceLabel]: today } };
        await client.resource(Secret).patch(refTo(secret), "merge", { metadata });
      } else if (since < oldest()) {
        await client.resource(Secret).delete(refTo(secret), { preconditions: { uid, resourceVersion } });
      }
    } catch (error) {
      // Used or changed meanwhile: tomorrow is another day.
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  const oldest = (): string => dateOf(clock.now() - cleanUpPeriod);

  return queues.controller;
}

function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}
