import type { MutatingWebhook, ValidatingWebhook } from "@dray/api/admissionregistration/v1";
import { encodeJSON } from "../../encoding/codec.ts";
import { CallFailure } from "../../webhook/errors.ts";
import type { AdmissionRequest } from "../admission.ts";
import { requestObject } from "../review.ts";
import { objectsIn, type VersionedResource } from "../versions.ts";

/** A question to a webhook. */
export interface Review {
  readonly uid: string;
  readonly version: "v1" | "v1beta1";
  readonly body: string;
}

/** An AdmissionReview (admission.k8s.io) in the first version that the webhook names and that we speak. */
export function reviewOf(
  webhook: ValidatingWebhook | MutatingWebhook,
  request: AdmissionRequest,
  matched: VersionedResource,
  uid: string,
): Review {
  const version = webhook.admissionReviewVersions.find((name) => name === "v1" || name === "v1beta1");
  if (version === undefined) {
    const why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
    throw new CallFailure(`could not create admission objects: ${why}`);
  }
  const { object, old } = objectsIn(request, matched);
  const body = encodeJSON({
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${version}`,
    request: {
      uid,
      ...requestObject(request, matched),
      object: object ?? null,
      oldObject: old ?? null,
    },
  });
  return { uid, version, body };
}
