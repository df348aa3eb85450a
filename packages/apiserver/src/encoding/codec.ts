import {
  apiVersionOf,
  assertKubeObject,
  type FieldError,
  invalid,
  type KubeObject,
  type Provenance,
  quoted,
  StatusError,
} from "@dray/api";
import {
  type BodyType,
  type DecodedBody,
  encodeJSON,
  isRegistered,
  kindProblem,
  type RawBody,
  type TextNotes,
  unknownConversion,
} from "@dray/api/codec";
import type { ModelledKind } from "../kinds/model.ts";
import { modelOf } from "../kinds/models.ts";
import { sortProblems } from "../patch/problem-order.ts";
import { checkValues } from "../request/body-limit.ts";
import type { Pause } from "../request/large-work.ts";
import type { FieldValidation } from "../request/options.ts";
import { readBytes } from "./read-bytes.ts";

export { encodeJSON, encodeObject, encodeProtobuf, protobufWatchFrame } from "@dray/api/codec";
export type { ModelledKind as Kind } from "../kinds/model.ts";

export interface Decoded {
  /** With its defaults; the caller may change it. */
  readonly object: KubeObject;
  /** Details of the body that the object does not show. */
  readonly provenance: Provenance;
  readonly warnings: readonly string[];
}

export interface DecodeOptions {
  readonly validation: FieldValidation;
  /** RFC 3339: value of fields that default to the current time. */
  readonly now: string;
  /** Release whose fields are known. */
  readonly release?: string;
  /**
   * Keeps nulls, which are ordinary values in custom resources, of objects from server-side apply or a
   * webhook.
   */
  readonly keepsNulls?: boolean;
  /**
   * The stored object that was patched, in the version of the request: its unchanged parts need not be
   * decoded again.
   */
  readonly live?: object;
  /** Notes of the text of a patch, from which parts of the tree were parsed. */
  readonly notes?: TextNotes | undefined;
  /** Paths that a JSON patch has added. */
  readonly written?: readonly string[];
  /** Awaited while the body is read, and between the steps of decoding. */
  readonly pause?: Pause;
}

/** Decodes a request body that must contain an object of `kind`. Throws 400. */
export async function decode(
  body: Uint8Array | object,
  contentType: BodyType,
  kind: ModelledKind,
  options: DecodeOptions,
): Promise<Decoded> {
  const raw =
    body instanceof Uint8Array
      ? await readBytes(
          body,
          contentType,
          { kind: kind.kind, version: options.release, apiVersion: apiVersionOf(kind) },
          options.pause,
        )
      : rawObject(body);
  if (body instanceof Uint8Array) checkValues(raw.tree, "the object", raw.values);
  await options.pause?.();
  const decoded = modelOf(kind).decode(raw, options.release);
  if (decoded.problems.length > 0 && options.validation === "Strict") {
    throw StatusError.of(
      "BadRequest",
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: strict decoding error: ${decoded.problems.join(", ")}`,
    );
  }
  await options.pause?.();
  return finished(decoded, kind, options);
}

function rawObject(tree: object, known?: object, notes?: TextNotes): RawBody {
  return { tree, duplicates: [], typed: false, notes, ...(known === undefined ? {} : { known }) };
}

/**
 * Decodes the result of a patch, which may be as invalid as any body; `ownProblems` are the strict validation
 * errors of the patch itself. Throws 400, and 422 for strict validation errors.
 */
export function decodePatched(
  raw: { readonly [key: string]: unknown },
  kind: ModelledKind,
  options: DecodeOptions,
  ownProblems: readonly string[] = [],
): Decoded {
  const refuse = (detail: string): StatusError => {
    const error: FieldError = { type: "Invalid", path: "patch", value: quoted(encodeJSON(raw)), detail };
    return invalid({ group: "", kind: "" }, "", [error]);
  };
  const { apiVersion, kind: name } = raw;
  if (apiVersion !== apiVersionOf(kind) || name !== kind.kind) {
    throw modelOf(kind).otherKind?.(raw) ?? refuse(kindProblem(raw) ?? otherKind(raw, kind));
  }
  let decoded: DecodedBody;
  try {
    const { release, keepsNulls, live, notes, written } = options;
    const found = modelOf(kind).decode(rawObject(raw, live, notes), release, keepsNulls);
    decoded = {
      ...found,
      problems: sortProblems(found.problems, written),
      warnings: sortProblems(found.warnings, written),
    };
  } catch (error) {
    if (!StatusError.is(error, "BadRequest")) throw error;
    throw refuse(error.message.replace(/^.*? cannot be handled as an? \w+: /, ""));
  }
  const problems = [...ownProblems, ...decoded.problems];
  if (problems.length > 0 && options.validation === "Strict") {
    throw refuse(`strict decoding error: ${problems.join(", ")}`);
  }
  return finished({ ...decoded, warnings: [...ownProblems, ...decoded.warnings] }, kind, options);
}

function otherKind(
  { apiVersion, kind }: { readonly [key: string]: unknown },
  expected: ModelledKind,
): string {
  const [sent, name] = [String(apiVersion), String(kind)];
  const [group = "", version = ""] = sent.includes("/") ? sent.split("/", 2) : ["", sent];
  if (isRegistered(group, version, name)) return unknownConversion(version, name, expected);
  return `no kind ${quoted(name)} is registered for version ${quoted(sent)} in scheme "pkg/runtime/scheme.go:111"`;
}

function finished(decoded: DecodedBody, kind: ModelledKind, options: DecodeOptions): Decoded {
  const { object, provenance } = decoded;
  const { now, release } = options;
  modelOf(kind).setDefaults(object, { now, provenance, ...(release === undefined ? {} : { release }) });
  assertKubeObject(object);
  return { object, provenance, warnings: options.validation === "Ignore" ? [] : decoded.warnings };
}
