import type { MutatingWebhook, ValidatingWebhook } from "@dray/api/admissionregistration/v1";
import type { Status } from "@dray/api/meta/v1";
import { encodeJSON } from "../../codec.ts";
import type { AdmissionRequest } from "../admission.ts";
import { requestObject } from "../review.ts";
import { objectsIn, type VersionedResource } from "../versions.ts";
import { CallFailure } from "./errors.ts";

/** What a webhook has answered. */
export interface Verdict {
  readonly allowed: boolean;
  readonly result?: Partial<Status>;
  readonly warnings: readonly string[];
  /** Operations of a JSON patch, as text; only of mutating webhooks. */
  readonly patch?: string;
}

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

interface Answer {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly response?: {
    readonly uid?: string;
    readonly allowed?: boolean;
    readonly status?: Partial<Status>;
    readonly patch?: string;
    readonly patchType?: string;
    readonly warnings?: readonly string[];
  } | null;
}

const apiGroup = "admission.k8s.io";

/** Reads an answer. Throws CallFailure where it is none to the question. */
export function verdictOf(text: string, review: Review, mutating: boolean): Verdict {
  const answer = readAnswer(text, review);
  const problem = answerProblem(answer, review, mutating);
  if (problem !== undefined) throw new CallFailure(`received invalid webhook response: ${problem}`);
  const { allowed = false, status, patch = "", patchType, warnings = [] } = answer.response!;
  if (mutating && allowed && patchType !== undefined && patchType !== "JSONPatch" && patch !== "")
    throw new CallFailure(`unsupported patch type ${JSON.stringify(patchType)}`);
  return {
    allowed,
    ...(status ? { result: status } : {}),
    warnings,
    ...(mutating && patch !== "" ? { patch: Buffer.from(patch, "base64").toString() } : {}),
  };
}

/** An AdmissionReview, whatever is in it; the errors are those of Go's decoder. */
function readAnswer(text: string, { version }: Review): Answer {
  const unreadable = (why: string): CallFailure => new CallFailure(`failed to call webhook: ${why}`);
  if (text === "") {
    throw unreadable("0-length response with status code: 200 and content type: application/json");
  }
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    // Upstream takes what is no JSON for YAML, and so for a string.
    answer = text;
  }
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) {
    const type = Array.isArray(answer) ? "array" : typeof answer;
    const target =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    throw unreadable(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${type} into Go value of type ${target}`,
    );
  }
  const { kind = "", apiVersion = "" } = answer as Answer;
  const other = version === "v1" ? "v1beta1" : "v1";
  if (kind === "AdmissionReview" && apiVersion === `${apiGroup}/${other}`) {
    throw unreadable(
      `converting (${other}.AdmissionReview) to (${version}.AdmissionReview): unknown conversion`,
    );
  }
  const known = [`${apiGroup}/${version}`, ""].includes(String(apiVersion));
  if ((kind !== "AdmissionReview" && kind !== "") || !known) {
    throw unreadable(
      `no kind ${JSON.stringify(kind || "AdmissionReview")} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/runtime/scheme.go:111"`,
    );
  }
  return answer as Answer;
}

/** What keeps it from being an answer to the question; v1beta1 never asked for so much. */
function answerProblem(
  { kind = "", apiVersion = "", response }: Answer,
  review: Review,
  mutating: boolean,
): string | undefined {
  if (!response) return "webhook response was absent";
  if (review.version === "v1beta1") return undefined;
  const { uid = "", patch = "", patchType } = response;
  if (uid !== review.uid)
    return `expected response.uid=${JSON.stringify(review.uid)}, got ${JSON.stringify(uid)}`;
  const wanted = `${apiGroup}/v1, Kind=AdmissionReview`;
  const got = `${apiVersion || "/"}, Kind=${kind}`;
  if (got !== wanted) return `expected webhook response of ${wanted}, got ${got}`;
  if (!mutating) {
    if (patch !== "") return "validating webhook may not return response.patch";
    return patchType === undefined ? undefined : "validating webhook may not return response.patchType";
  }
  if (patch !== "" && patchType === undefined)
    return "webhook returned response.patch but not response.patchType";
  if (patch === "" && patchType !== undefined)
    return "webhook returned response.patchType but not response.patch";
  return patchType === "" ? 'webhook returned invalid response.patchType of ""' : undefined;
}
