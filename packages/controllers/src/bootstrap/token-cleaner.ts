import { StatusError } from "@dray/api";
import { Secret } from "@dray/api/core/v1";
import { keyOf, refOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { refTo } from "../shared/status.ts";
import { expiryOf, isBootstrapToken } from "./token.ts";

/**
 * Deletes bootstrap tokens that have expired.
 *
 * Upstream: pkg/controller/bootstrap/tokencleaner.go.
 */
export async function startTokenCleaner(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const secrets = informers.of(Secret);
  await synced(context, [secrets]);
  const queues = controllerQueues(context);
  const queue = queues.queue("token_cleaner", reconcile);
  const changed = (secret: Secret): void => {
    if (isBootstrapToken(secret)) queue.add(keyOf(secret.metadata));
  };
  secrets.handle({ add: changed, update: changed });

  async function reconcile(key: string): Promise<void> {
    const secret = secrets.get(refOf(key));
    const expiry = secret === undefined ? undefined : expiryOf(secret);
    if (secret === undefined || expiry === undefined) return;
    if (expiry > clock.now()) return queue.addAfter(key, expiry - clock.now());
    const { uid } = secret.metadata;
    try {
      await client.resource(Secret).delete(refTo(secret), { preconditions: { uid } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  return queues.controller;
}
