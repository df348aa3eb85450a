import { type KubeObject, type KubernetesVersion, quoted } from "@dray/api";
import type { WebhookConversion } from "@dray/api/apiextensions/v1";
import { encodeJSON, parseJSONTree, TooManyValuesError } from "@dray/api/codec";
import { checkAnnotations, checkLabels, FieldErrors } from "@dray/api/validation";
import { serverError } from "../errors/status.ts";
import { fieldsIn } from "../json/values.ts";
import { thaw } from "../storage/json.ts";
import { isPlain, type Plain } from "../structural-schemas/schema.ts";
import type { WebhookClient } from "../webhook/client.ts";
import { CallFailure } from "../webhook/errors.ts";

/** Timeout of the client. Upstream: apiextensions-apiserver, pkg/apiserver/conversion */
const timeoutSeconds = 30;
/**
 * Maximum number of fields, keys and elements of a response: a few more than those of the largest object,
 * which may have become larger.
 */
const maxResponseValues = 200_000;
/** Versions of ConversionReview that are sent. */
const known = new Set(["v1", "v1beta1"]);

/** Dependencies of a conversion webhook. */
export interface ConversionParts {
  readonly webhooks: Pick<WebhookClient, "post">;
  readonly newId: () => string;
  readonly release: KubernetesVersion;
}

/**
 * The webhook that converts the objects of one definition between its versions.
 *
 * Upstream: apiextensions-apiserver, pkg/apiserver/conversion/webhook_converter.go
 */
export class ConversionWebhook {
  readonly #config: WebhookConversion;
  readonly #parts: ConversionParts;

  constructor(config: WebhookConversion, parts: ConversionParts) {
    this.#config = config;
    this.#parts = parts;
  }

  /**
   * Returns the objects, which have one version, in another one. Only labels and annotations of their
   * metadata may change. Throws 500.
   */
  async convert(objects: readonly KubeObject[], apiVersion: string): Promise<KubeObject[]> {
    const [first] = objects;
    if (first === undefined) return [];
    const from = `${first.apiVersion}, Kind=${first.kind}`;
    const wrong = (reason: string): Error => serverError(`conversion webhook for ${from} ${reason}`);
    let made: readonly unknown[];
    try {
      made = await this.#ask(objects, apiVersion);
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      throw wrong(`failed: ${error.message.replace(/^failed to call webhook: /, "")}`);
    }
    if (made.length !== objects.length)
      throw wrong(`returned ${made.length} objects, expected ${objects.length}`);
    return objects.map((object, index) => {
      const problem = checked(object, made[index], { apiVersion, release: this.#parts.release });
      if (typeof problem !== "string") return problem;
      throw wrong(`returned invalid converted object at index ${index}: ${problem}`);
    });
  }

  async #ask(objects: readonly KubeObject[], desiredAPIVersion: string): Promise<readonly unknown[]> {
    const { clientConfig = {}, conversionReviewVersions } = this.#config;
    const version = conversionReviewVersions.find((each) => known.has(each));
    if (version === undefined) throw new CallFailure("no supported conversion review versions");
    const uid = this.#parts.newId();
    const apiVersion = `apiextensions.k8s.io/${version}`;
    const request = { uid, desiredAPIVersion, objects };
    const body = encodeJSON({ kind: "ConversionReview", apiVersion, request });
    return convertedObjects(await this.#parts.webhooks.post(clientConfig, body, timeoutSeconds, undefined), {
      apiVersion,
      uid,
    });
  }
}

/** Returns the objects of the webhook's response. Throws CallFailure. */
function convertedObjects(text: string, sent: { apiVersion: string; uid: string }): readonly unknown[] {
  const { kind, apiVersion, response } = parsed(text);
  const isV1 = sent.apiVersion.endsWith("/v1");
  if (isV1 && (kind !== "ConversionReview" || apiVersion !== sent.apiVersion)) {
    const shown = (version: unknown, name: unknown): string => `${version ?? ""}, Kind=${name ?? ""}`;
    const expected = shown(sent.apiVersion, "ConversionReview");
    throw new CallFailure(`expected webhook response of ${expected}, got ${shown(apiVersion, kind)}`);
  }
  if (!isPlain(response)) throw new CallFailure("no response provided");
  const { uid = "", result, convertedObjects = [] } = response;
  if (isV1 && uid !== sent.uid)
    throw new CallFailure(`expected response.uid=${quoted(sent.uid)}, got ${quoted(String(uid))}`);
  const { status = "", message } = isPlain(result) ? result : {};
  if (status !== "Success")
    throw new CallFailure(
      message ? String(message) : `response.result.status was '${String(status)}', not 'Success'`,
    );
  return Array.isArray(convertedObjects) ? convertedObjects : [];
}

function parsed(text: string): Plain {
  try {
    const { value } = parseJSONTree(text, maxResponseValues);
    return isPlain(value) ? value : {};
  } catch (error) {
    const { message } = error as Error;
    throw new CallFailure(error instanceof TooManyValuesError ? `the response has ${message}` : message);
  }
}

/** Returns the converted object with its original metadata; a text is the error. */
function checked(
  original: KubeObject,
  made: unknown,
  { apiVersion, release }: { readonly apiVersion: string; readonly release: KubernetesVersion },
): KubeObject | string {
  if (!isPlain(made)) return "Object 'Kind' is missing";
  if (made["apiVersion"] !== apiVersion)
    return `invalid groupVersion (expected ${apiVersion}, received ${String(made["apiVersion"] ?? "")})`;
  if (made["kind"] !== original.kind)
    return `invalid kind (expected ${original.kind}, received ${String(made["kind"] ?? "")})`;
  const { metadata } = made;
  if (!isPlain(metadata)) return "missing metadata in converted object";
  for (const field of ["name", "namespace", "uid"] as const) {
    const [before = "", after = ""] = [original.metadata[field], metadata[field]];
    const name = field === "uid" ? "UID" : field;
    if (before !== after) return `must have the same ${name}: ${before} != ${String(after)}`;
  }
  const kept = fieldsIn(thaw(original.metadata));
  for (const field of ["labels", "annotations"] as const) {
    const texts = metadata[field] ?? undefined;
    delete kept[field];
    if (texts === undefined) continue;
    if (!isPlain(texts)) return `invalid metadata.${field} of type ${typeof texts} in converted object`;
    const problem = textsProblem(field, texts, release);
    if (problem !== undefined) return problem;
    kept[field] = texts;
  }
  const object: object = { ...made, metadata: kept };
  // The metadata are those of the original; the schema is checked afterwards.
  return object as KubeObject;
}

function textsProblem(
  field: "labels" | "annotations",
  texts: Plain,
  release: KubernetesVersion,
): string | undefined {
  const odd = Object.entries(texts).find(([, value]) => typeof value !== "string");
  if (odd !== undefined)
    return `metadata.${field}[${odd[0]}] must be a string, but is ${typeof odd[1]} in converted object`;
  const errors = new FieldErrors({ release });
  const check = field === "labels" ? checkLabels : checkAnnotations;
  check(errors.at("metadata").at(field), texts as Record<string, string>);
  const first = errors.list.at(0);
  return first === undefined ? undefined : `${first.path}: ${first.value ?? ""}: ${first.detail}`;
}
