import { quoted } from "@dray/api";
import { JSONError, parseJSONTree, TooManyValuesError } from "@dray/api/codec";
import type { Status } from "@dray/api/meta/v1";
import { maxBodyValues } from "../../request/body-limit.ts";
import { CallFailure } from "../../webhook/errors.ts";
import type { Review } from "./review.ts";

/** Decoded response of a webhook. */
export interface Verdict {
  readonly allowed: boolean;
  readonly result?: Partial<Status>;
  readonly warnings: readonly string[];
  /** Set only for mutating webhooks. */
  readonly patch?: WebhookPatch;
}

/** Patch in the response of a webhook: operations of a JSON patch, as text, for the type `JSONPatch`. */
export interface WebhookPatch {
  readonly type: string;
  readonly text: string;
}

interface Answer {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly response?: AnswerResponse | null;
}

interface AnswerResponse {
  readonly uid?: string;
  readonly allowed?: boolean;
  readonly status?: Partial<Status>;
  readonly patch?: string;
  readonly patchType?: string;
  readonly warnings?: readonly string[];
}

const apiGroup = "admission.k8s.io";

/** Decodes a response. Throws CallFailure if it does not match the review. */
export function verdictOf(text: string, review: Review, mutating: boolean): Verdict {
  const answer = readAnswer(text, review);
  const { response } = answer;
  if (!response) throw invalidAnswer("webhook response was absent");
  const problem = answerProblem(answer, response, review, mutating);
  if (problem !== undefined) throw invalidAnswer(problem);
  const { allowed = false, status, patch = "", patchType, warnings = [] } = response;
  return {
    allowed,
    ...(status ? { result: status } : {}),
    warnings,
    ...(mutating && patch !== ""
      ? { patch: { type: patchType ?? "JSONPatch", text: Buffer.from(patch, "base64").toString() } }
      : {}),
  };
}

const invalidAnswer = (problem: string): CallFailure =>
  new CallFailure(`received invalid webhook response: ${problem}`);

/** Decodes an AdmissionReview; the errors are those of Go's decoder. */
function readAnswer(text: string, { version }: Review): Answer {
  const unreadable = (why: string): CallFailure => new CallFailure(`failed to call webhook: ${why}`);
  let answer: unknown;
  try {
    answer = parseJSONTree(text, maxBodyValues).value;
  } catch (error) {
    if (error instanceof TooManyValuesError) throw unreadable(`the response has ${error.message}`);
    if (!(error instanceof JSONError)) throw error;
    // Upstream parses text that is not JSON as YAML, and so as a string.
    answer = text;
  }
  answer ??= {};
  if (typeof answer !== "object" || Array.isArray(answer)) {
    const type = typeOf(answer);
    const target =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    throw unreadable(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${type} into Go value of type ${target}`,
    );
  }
  for (const field of ["apiVersion", "kind"] as const) {
    const wrong = unfit((answer as Answer)[field], "string");
    if (wrong === undefined) continue;
    throw unreadable(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${wrong} into Go struct field .${field} of type string`,
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
      `no kind ${quoted(String(kind || "AdmissionReview"))} is registered for version ${quoted(String(apiVersion))} in scheme "pkg/runtime/scheme.go:111"`,
    );
  }
  const problem = responseProblem((answer as Answer).response);
  if (problem !== undefined) throw unreadable(problem);
  const { response } = answer as Answer;
  return response ? { ...answer, response: withoutNulls(response) } : (answer as Answer);
}

/** Go's decoder leaves a field alone that is null. */
function withoutNulls(response: AnswerResponse): AnswerResponse {
  const kept = (object: object): object =>
    Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
  const { status, warnings, ...rest } = kept(response) as AnswerResponse;
  return {
    ...rest,
    ...(status && { status: kept(status) }),
    ...(warnings && { warnings: warnings.map((warning) => warning ?? "") }),
  };
}

/** Fields of an AdmissionResponse: JSON type and Go type. */
const responseFields = {
  uid: ["string", "types.UID"],
  allowed: ["bool", "bool"],
  status: ["object", "v1.Status"],
  patch: ["string", "[]uint8"],
  patchType: ["string", "v1.PatchType"],
  auditAnnotations: ["object", "map[string]string"],
  warnings: ["array", "[]string"],
} as const;

const statusFields = {
  status: ["string", "string"],
  message: ["string", "string"],
  reason: ["string", "v1.StatusReason"],
  details: ["object", "v1.StatusDetails"],
  code: ["number", "int32"],
} as const;

/** Returns the error of Go's decoder for the fields of a response; undefined if they are valid. */
function responseProblem(response: unknown): string | undefined {
  if (response === undefined || response === null) return undefined;
  const cannot = (form: string, field: string, type: string): string =>
    `json: cannot unmarshal ${form} into Go struct field ${field} of type ${type}`;
  const form = unfit(response, "object");
  if (form !== undefined) return cannot(form, "AdmissionReview.response", "v1.AdmissionResponse");
  const wrong = (
    fields: Readonly<Record<string, readonly [string, string]>>,
    object: object,
    path: string,
  ): string | undefined => {
    for (const [name, [wanted, type]] of Object.entries(fields)) {
      const found = unfit((object as Readonly<Record<string, unknown>>)[name], wanted);
      if (found !== undefined) return cannot(found, `${path}.${name}`, type);
    }
    return undefined;
  };
  const own = response as {
    readonly status?: object | null;
    readonly patch?: string | null;
    readonly warnings?: readonly unknown[] | null;
  };
  const problem =
    wrong(responseFields, own, "AdmissionResponse.response") ??
    wrong(statusFields, own.status ?? {}, "Status.response.status");
  if (problem !== undefined) return problem;
  for (const warning of own.warnings ?? []) {
    const found = unfit(warning, "string");
    if (found !== undefined) return cannot(found, "AdmissionResponse.response.warnings", "string");
  }
  const garbage = /[^A-Za-z0-9+/=\r\n]/.exec(own.patch ?? "");
  return garbage === null ? undefined : `illegal base64 data at input byte ${garbage.index}`;
}

/**
 * Returns the JSON type of a value in the words of Go's decoder if it is not the expected one; undefined if
 * it is, or if the value is absent or null.
 */
function unfit(value: unknown, wanted: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  const form = typeOf(value);
  return form === wanted ? undefined : form;
}

/** The JSON type of a value that is not null, in the words of Go's decoder. */
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}

/** Returns the error if a response does not match the review; v1beta1 is not compared. */
function answerProblem(
  { kind = "", apiVersion = "" }: Answer,
  response: AnswerResponse,
  review: Review,
  mutating: boolean,
): string | undefined {
  if (review.version === "v1beta1") return undefined;
  const { uid = "", patch = "", patchType } = response;
  if (uid !== review.uid) return `expected response.uid=${quoted(review.uid)}, got ${quoted(String(uid))}`;
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
