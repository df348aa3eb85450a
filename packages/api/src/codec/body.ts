import { StatusError } from "../errors/status-error.ts";
import { JSONError, type Pauses, parseJSONInPieces } from "../json/parser.ts";
import type { TextNotes } from "../json/text-notes.ts";
import { countValues } from "../json/value-count.ts";
import type { Kind, KubeObject } from "../objects/object.ts";
import type { Wire } from "../objects/wire.ts";
import type { KindRow } from "../schema/table.ts";
import { kindOf } from "../schema/types.ts";
import { quoted } from "../text/quoted.ts";
import type { YAMLTree } from "../yaml/yaml.ts";
import { DecodeError, decodeAs, UnknownKindError } from "./decode.ts";
import { Provenance } from "./provenance.ts";
import { homeGroup, isRegistered, unknownConversion } from "./registered.ts";

/** Media types of bodies that hold an object. */
export type BodyType = "application/json" | "application/yaml" | "application/vnd.kubernetes.protobuf";

/** A body before it is known to be of a type. */
export interface RawBody {
  readonly tree: unknown;
  /** Strict problems that only the text shows: `line 7: key "a" already set in map`. */
  readonly duplicates: readonly string[];
  /** Already in the API server's form, and known to be of its type: protobuf bodies are. */
  readonly typed: boolean;
  /** Notes of the JSON parser; absent for YAML and protobuf. */
  readonly notes?: TextNotes | undefined;
  /** Provenance of a tree that is of its type already. */
  readonly provenance?: Provenance;
  /** An object of the type as it is stored: parts that the tree has of it need not be read again. */
  readonly known?: object;
  /** The bytes that were read, for error messages. If they are given, `tree` is used nowhere else. */
  readonly bytes?: Uint8Array;
  /** How many fields, keys and elements the tree has, if that is known. */
  readonly values?: number | undefined;
}

let protobuf: typeof import("./protobuf/envelope.ts") | undefined;
let yaml: typeof import("../yaml/yaml.ts") | undefined;

/** A YAML tree and the number of its values. */
export interface CountedTree extends YAMLTree {
  readonly values: number;
}

/** How a body is read. */
export interface BodyReading {
  /** Reads the first document of a YAML text elsewhere. Rejects with YAMLError and TooManyValuesError. */
  readonly readYAML?: ((text: string) => Promise<CountedTree>) | undefined;
  /** Pauses while JSON and protobuf are read; without it all is read at once. */
  readonly pause?: Pauses | undefined;
}

/** The type that a body should have, which protobuf may leave out, and the release whose fields are known. */
export interface ExpectedType {
  readonly kind: string;
  readonly version?: string | undefined;
  readonly apiVersion?: string;
  /** Maximum number of fields, keys and elements. */
  readonly maxValues?: number;
}

/** Reads bytes of that media type into a tree. Throws 400 BadRequest, and TooManyValuesError. */
export async function readBody(
  bytes: Uint8Array,
  mediaType: BodyType,
  { kind, version, apiVersion = "", maxValues = Number.POSITIVE_INFINITY }: ExpectedType,
  { readYAML, pause }: BodyReading = {},
): Promise<RawBody> {
  const bare = apiVersion.startsWith(`${optionsGroup}/`);
  const refuse = (why: string): StatusError =>
    bare ? StatusError.of("BadRequest", why) : unrecognized(kind, why, bytes);
  if (mediaType === "application/vnd.kubernetes.protobuf") {
    // Loaded on first use, and cached: each `import()` costs as much as a small object.
    protobuf ??= await import("./protobuf/envelope.ts");
    try {
      const expected = { apiVersion, kind, maxValues };
      const read = await protobuf.decodeProtobufInPieces(bytes, version, expected, pause);
      const { object, provenance, values } = read;
      return { tree: object, provenance, duplicates: [], typed: true, bytes, values };
    } catch (error) {
      if (error instanceof UnknownKindError)
        throw unknownKind(error.kind, error.apiVersion, bare ? undefined : kind);
      // Go's message is shorter for bytes that end too early.
      if (error instanceof DecodeError)
        throw refuse(error.message.replace(/^proto: (unexpected EOF).*/, "$1"));
      throw error;
    }
  }
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  if (mediaType === "application/yaml") {
    yaml ??= await import("../yaml/yaml.ts");
    try {
      const { value, duplicates, values } =
        readYAML === undefined ? counted(yaml.parseYAML(text), maxValues) : await readYAML(text);
      return { tree: value, duplicates, typed: false, bytes, values };
    } catch (error) {
      if (error instanceof yaml.YAMLError) throw refuse(error.message);
      throw error;
    }
  }
  try {
    const { value, notes, values } = await parseJSONInPieces(text, maxValues, pause);
    return { tree: value, notes, duplicates: [], typed: false, bytes, values };
  } catch (error) {
    if (error instanceof JSONError) throw refuse(noKind(error.message));
    throw error;
  }
}

/** Counts the values of a tree. Throws TooManyValuesError. */
export function counted(tree: YAMLTree, maxValues: number): CountedTree {
  return { ...tree, values: countValues(tree.value, maxValues) };
}

/** The group of request options: error messages about them do not name the expected kind. */
const optionsGroup = "meta.k8s.io";

const noKind = (why: string): string => `couldn't get version/kind; json parse error: ${why}`;

/** The error of a body that is not an object of any kind: `why`, and its first bytes. */
export function unrecognized(kind: string, why: string, bytes: Uint8Array): StatusError {
  return StatusError.of(
    "BadRequest",
    `the object provided is unrecognized (must be of type ${kind}): ${why} (${summary(bytes)})`,
  );
}

/** The first bytes of a body: as text if they look like JSON, else in hexadecimal. */
function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return "<empty>";
  const first = Buffer.from(bytes.subarray(0, 30));
  const shown = first.toString(first[0] === 0x7b ? "utf8" : "hex");
  return bytes.length > 30 ? `${shown} ...` : shown;
}

/** The error of a tree whose `kind` or `apiVersion` is not a string; undefined if both are. */
export function kindProblem(tree: unknown): string | undefined {
  const why = kindUnknown(tree);
  return why === undefined ? undefined : noKind(why);
}

/** Why the kind of a tree cannot be read, in Go's words; undefined if it can. */
function kindUnknown(tree: unknown): string | undefined {
  const form = (value: unknown): string =>
    Array.isArray(value)
      ? "array"
      : typeof value === "boolean"
        ? "bool"
        : typeof value === "bigint"
          ? "number"
          : typeof value;
  const reader = `struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;
  if (tree === null) return undefined;
  if (typeof tree !== "object" || Array.isArray(tree)) {
    return `json: cannot unmarshal ${form(tree)} into Go value of type ${reader}`;
  }
  for (const [key, value] of Object.entries(tree)) {
    if (key !== "kind" && key !== "apiVersion") continue;
    if (value === null || typeof value === "string") continue;
    return `json: cannot unmarshal ${form(value)} into Go struct field .${key} of type string`;
  }
  return undefined;
}

export interface DecodedBody<T extends KubeObject = KubeObject> {
  readonly object: Wire<T>;
  /** Details of the body that the object does not show. */
  readonly provenance: Provenance;
  /** Problems that strict validation rejects. */
  readonly problems: readonly string[];
  /** The same as warnings have it: one for each line. */
  readonly warnings: readonly string[];
}

const schemeName = '"pkg/runtime/scheme.go:111"';

/** The error of an object that cannot be converted to the expected kind. */
function unhandled(kind: string, version: string, expected: string | undefined, why: string): StatusError {
  const what =
    expected === undefined
      ? ""
      : `${kind} in version ${quoted(version)} cannot be handled as a ${expected}: `;
  return StatusError.of("BadRequest", `${what}${why}`);
}

function unknownKind(kind: string, apiVersion: string, expected: string | undefined): StatusError {
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  const why = `no kind ${quoted(kind)} is registered for version ${quoted(apiVersion)} in scheme ${schemeName}`;
  return unhandled(kind, version, expected, why);
}

/**
 * Reads a tree as an object of `kind`. Missing `kind` and `apiVersion` are taken from it; others are refused.
 * Throws 400 BadRequest in kube-apiserver's words. `version` is the release whose fields are known.
 */
export function decodeBody<T extends KubeObject>(
  raw: RawBody,
  kind: KindRow & Kind<T>,
  version?: string,
): DecodedBody<T> {
  const { tree, duplicates, typed, known, bytes = new Uint8Array() } = raw;
  const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
  const bare = kind.group === optionsGroup;
  const why = kindUnknown(tree);
  if (why !== undefined) {
    throw bare ? StatusError.of("BadRequest", noKind(why)) : unrecognized(kind.kind, noKind(why), bytes);
  }
  const source = (tree ?? {}) as { apiVersion?: unknown; kind?: unknown };
  if (typeof source.apiVersion === "string" && source.apiVersion.split("/").length > 2) {
    const odd = `unexpected GroupVersion string: ${source.apiVersion}`;
    throw bare ? StatusError.of("BadRequest", odd) : unrecognized(kind.kind, odd, bytes);
  }
  const sentVersion =
    typeof source.apiVersion === "string" && source.apiVersion !== "" ? source.apiVersion : apiVersion;
  const sentKind = typeof source.kind === "string" && source.kind !== "" ? source.kind : kind.kind;
  if (sentKind !== kind.kind || sentVersion !== apiVersion) {
    const slash = sentVersion.indexOf("/");
    const [group, inGroup] = [
      sentVersion.slice(0, Math.max(slash, 0)),
      sentVersion.slice(slash + 1),
    ] as const;
    const known = isRegistered(group, inGroup, sentKind);
    // Kinds that are not in the schema table have versions of their own.
    const builtIn = kindOf(kind.group, kind.version, kind.kind) !== undefined;
    const samePlace = homeGroup(group, sentKind) === homeGroup(kind.group, kind.kind);
    if (sentKind === kind.kind && samePlace && (known || !builtIn)) {
      throw StatusError.of(
        "BadRequest",
        `the API version in the data (${sentVersion}) does not match the expected API version (${apiVersion})`,
      );
    }
    if (!bare && known) {
      const why = unknownConversion(inGroup, sentKind, kind);
      throw unhandled(sentKind, inGroup, kind.kind, why);
    }
    throw unknownKind(sentKind, sentVersion, bare ? undefined : kind.kind);
  }
  if (typed) {
    const object = { ...source, apiVersion, kind: kind.kind };
    return {
      object: object as Wire<T>,
      provenance: raw.provenance ?? new Provenance(),
      problems: [],
      warnings: [],
    };
  }
  try {
    const { object, provenance, problems } = decodeAs(source, kind.type, version, {
      stored: true,
      known,
      owned: raw.bytes !== undefined,
      notes: raw.notes,
    });
    const { apiVersion: _a, kind: _k, ...rest } = object;
    // To Go all repeated keys of a YAML text are one error.
    const repeated = duplicates.length > 0 ? [`yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`] : [];
    return {
      object: provenance.keepEmpty({ apiVersion, kind: kind.kind, ...rest }, object) as Wire<T>,
      provenance,
      problems: [...repeated, ...problems],
      warnings: [...duplicates, ...problems],
    };
  } catch (error) {
    if (error instanceof DecodeError) {
      throw unhandled(kind.kind, kind.version, bare ? undefined : kind.kind, error.message);
    }
    throw error;
  }
}
