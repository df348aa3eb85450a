import { quoted, StatusError } from "@dray/api";
import type { MutatingWebhook, ValidatingWebhook } from "@dray/api/admissionregistration/v1";
import { CallFailure, failed, rejected, requestTimeout } from "../../webhook/errors.ts";
import type { AdmissionRequest } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";
import type { Call } from "./hooks.ts";
import { reviewOf } from "./review.ts";
import { verdictOf, type WebhookPatch } from "./verdict.ts";

/** Default timeout of webhooks, in seconds. */
const defaultTimeoutSeconds = 10;

/**
 * Calls one webhook. A mutating one has `use`, which receives the patch in its response, if any. Throws
 * StatusError if the webhook denies the request, if the call fails and failures are not ignored, or if the
 * client's timeout is over.
 */
export async function ask(
  { hook, version }: Call<ValidatingWebhook | MutatingWebhook>,
  request: AdmissionRequest,
  context: AdmissionContext,
  use?: (patch: WebhookPatch) => Promise<void>,
): Promise<void> {
  const { webhook } = hook;
  // A webhook with side effects is not called in a dry run.
  if (request.dryRun && webhook.sideEffects !== "None" && webhook.sideEffects !== "NoneOnDryRun") {
    const message = `admission webhook ${quoted(webhook.name)} does not support dry run`;
    throw StatusError.of("BadRequest", message);
  }
  if (request.sent?.signal.aborted) throw requestTimeout();
  try {
    const review = reviewOf(webhook, request, version, context.newId());
    const { timeoutSeconds = defaultTimeoutSeconds, clientConfig } = webhook;
    const answer = await context.webhooks.post(
      clientConfig,
      review.body,
      timeoutSeconds,
      request.sent?.signal,
    );
    await request.pause?.();
    const verdict = verdictOf(answer, review, use !== undefined);
    for (const warning of verdict.warnings) request.warn(warning);
    if (!verdict.allowed) throw rejected(webhook.name, verdict.result);
    if (verdict.patch !== undefined) await use?.(verdict.patch);
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    if (webhook.failurePolicy !== "Ignore") throw failed(webhook.name, error);
    if (request.sent?.signal.aborted) throw requestTimeout();
  }
}
