import { type Kind, type KubeObject, StatusError, type Wire } from "@dray/api";
import { decode } from "../encoding/codec.ts";
import { bodyLimit } from "../request/body-limit.ts";
import type { FieldValidation } from "../request/options.ts";
import { type Context, warn } from "./context.ts";

const bodyTypes = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
export type BodyType = "application/json" | "application/yaml" | "application/vnd.kubernetes.protobuf";

/** A media type with well-formed parameters, as Go's mime package requires. */
const mediaType =
  /^\s*([^\s;]+)\s*(?:;\s*[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*")\s*)*;?\s*$/;

/** Returns the media type of the body; JSON if absent. Throws 415. */
export function bodyType(context: Pick<Context, "request">): BodyType {
  const header = context.request.headers["content-type"] ?? "";
  const type = mediaType.exec(header)?.[1]?.toLowerCase();
  if (header === "" || type === "application/json") return "application/json";
  if (type === "application/yaml" || type === "application/vnd.kubernetes.protobuf") return type;
  throw StatusError.of(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${bodyTypes}`,
  );
}

/** Returns the raw body. Throws 413. */
export function bodyOf(context: Pick<Context, "request">): Uint8Array | object {
  const body = context.request.body ?? new Uint8Array();
  if (body instanceof Uint8Array && body.length > bodyLimit) {
    throw StatusError.of("RequestEntityTooLarge", `Request entity too large: limit is ${bodyLimit}`);
  }
  return body;
}

/**
 * Decodes the body of a request, an object of this kind, with its defaults. Fields that T requires may be
 * missing or null: the object is not validated yet. Adds warnings about unknown fields to the context, or
 * throws 400 in strict validation.
 */
export async function readObject<T extends KubeObject>(
  context: Context,
  kind: Pick<Kind<T>, "group" | "version" | "kind" | "object">,
  validation: FieldValidation,
): Promise<Wire<T> & KubeObject> {
  const { registry } = context;
  const decoded = await decode(bodyOf(context), bodyType(context), kind, {
    ...registry.decoding(validation),
    pause: context.pause,
  });
  await context.pause?.();
  warn(context, decoded.warnings);
  context.provenance.adopt(decoded.provenance);
  // The model has decoded it as this kind.
  return decoded.object as Wire<T> & KubeObject;
}
