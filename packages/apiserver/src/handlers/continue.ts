import { posix } from "node:path";
import { quoted, StatusError } from "@dray/api";
import { JSONError, parseJSON } from "@dray/api/codec";

/** The position at which the next page of a list begins. */
export interface Continue {
  /** The minimum key of the page, within the collection. */
  readonly start: string;
  /** The revision of all pages; -1: the newest one (the pages are then inconsistent). */
  readonly revision: number;
}

const version = "meta.k8s.io/v1";

/** Returns the token of the next page. */
export function continueToken({ start, revision }: Continue): string {
  return Buffer.from(JSON.stringify({ v: version, rv: revision, start })).toString("base64url");
}

/** Parses a token. Throws 400 with the messages of k8s.io/apiserver/pkg/storage. */
export function parseContinue(text: string): Continue {
  checkBase64(text);
  const bytes = Buffer.from(text, "base64url");
  const first = bytes[0] ?? 0;
  // Upstream works on bytes: an invalid first byte is printed as the character of that code.
  if (first >= 0x80) {
    const shown = quoted(String.fromCharCode(first)).slice(1, -1).replace("\\x", "\\u00");
    throw unreadable(`invalid character '${shown}' looking for beginning of value`);
  }
  const tree = parsed(bytes.toString());
  if (typeof tree !== "object" || tree === null || Array.isArray(tree)) {
    if (tree === null) throw unknownVersion("");
    throw unreadable(`json: cannot unmarshal ${formOf(tree)} into Go value of type storage.continueToken`);
  }
  const { v, rv, start } = tree as Record<string, unknown>;
  check("v", v, "string");
  check("rv", rv, "int64");
  check("start", start, "string");
  if ((v ?? "") !== version) throw unknownVersion(String(v ?? ""));
  if (!rv) throw unreadable(`incorrect encoded start resourceVersion (version ${version})`);
  if (!start) throw unreadable(`encoded start key empty (version ${version})`);
  const plain = String(start);
  const key = plain.startsWith("/") ? plain : `/${plain}`;
  // A token must not lead out of its collection.
  const clean = posix.normalize(key).replace(/(?<=.)\/$/, "");
  if (clean !== key) throw unreadable(plain);
  return { start: key.slice(1), revision: Number(rv) };
}

/**
 * Returns the error of a list whose revision is compacted; its token continues at `start` with the newest
 * revision.
 */
export function expiredContinue(start: string): StatusError {
  const error = StatusError.of(
    "Expired",
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
  );
  const metadata = { continue: continueToken({ start, revision: -1 }) };
  return new StatusError({ ...error.status, metadata });
}

function unreadable(reason: string): StatusError {
  return StatusError.of("BadRequest", `invalid continue token: continue key is not valid: ${reason}`);
}

function unknownVersion(given: string): StatusError {
  return unreadable(`server does not recognize this encoded version ${given}`);
}

function checkBase64(text: string): void {
  const wrong = /[^A-Za-z0-9_-]/.exec(text)?.index ?? (text.length % 4 === 1 ? text.length - 1 : undefined);
  if (wrong !== undefined) throw unreadable(`illegal base64 data at input byte ${wrong}`);
}

function parsed(text: string): unknown {
  try {
    return parseJSON(text);
  } catch (error) {
    if (error instanceof JSONError) throw unreadable(error.message);
    throw error;
  }
}

function check(name: string, value: unknown, type: "string" | "int64"): void {
  if (value === undefined || value === null) return;
  const integer = typeof value === "bigint" || Number.isInteger(value);
  if (type === "string" ? typeof value === "string" : integer) return;
  const form = typeof value === "number" && type === "int64" ? `number ${value}` : formOf(value);
  throw unreadable(
    `json: cannot unmarshal ${form} into Go struct field continueToken.${name} of type ${type}`,
  );
}

function formOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  const form = typeof value;
  return form === "boolean" ? "bool" : form === "bigint" ? "number" : form;
}
