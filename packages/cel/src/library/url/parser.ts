import { quotedBytes } from "@dray/api";
import { parseAddress } from "@dray/api/ip";
import { fromBytes, toBytes } from "../byte-text.ts";

/** The parts of a URL, as in Go's net/url. All strings have one character per byte (see byte-text). */
export interface Url {
  readonly scheme: string;
  /** The part behind the scheme if it is not a path: `mailto:opaque`. */
  readonly opaque: string;
  /** `user:password`, escaped; undefined without an `@`. */
  readonly user: string | undefined;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  /** The URL ends in `?`. */
  readonly emptyQuery: boolean;
  readonly fragment: string;
  /** There is no `//` between the scheme and the path. */
  readonly omitHost: boolean;
}

type Part = "path" | "host" | "zone" | "user" | "query" | "fragment";

/** Characters that are not escaped, besides letters, digits and `-_.~`. */
const plain: Readonly<Record<Part, string>> = {
  path: "$&+,/:;=@",
  host: "!$&'()*+,;=:[]<>\"",
  zone: "!$&'()*+,;=:[]<>\"",
  user: "$&+,;=",
  query: "",
  fragment: "$&+,/:;=?@!()*",
};

const isPlain = (byte: string, part: Part): boolean =>
  /[A-Za-z0-9_.~-]/.test(byte) || plain[part].includes(byte);

class UrlError extends Error {}

const escapeForm = /^%[0-9a-fA-F]{2}/;
const byteOf = (triple: string): string => String.fromCharCode(Number.parseInt(triple.slice(1), 16));

function decode(text: string, part: Part): string {
  const host = part === "host" || part === "zone";
  let out = "";
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (char === "%") {
      const triple = text.slice(i, i + 3);
      const byte = byteOf(triple);
      const bad =
        !escapeForm.test(triple) ||
        (part === "host" && byte < "\x80" && triple !== "%25") ||
        (part === "zone" && triple !== "%25" && byte !== " " && !isPlain(byte, "host"));
      if (bad) throw new UrlError(`invalid URL escape ${quotedBytes(triple)}`);
      out += byte;
      i += 2;
    } else if (host && char < "\x80" && !isPlain(char, part)) {
      throw new UrlError(`invalid character ${quotedBytes(char)} in host name`);
    } else out += char === "+" && part === "query" ? " " : char;
  }
  return out;
}

function encode(text: string, part: Part): string {
  return text.replace(/./gs, (byte) =>
    isPlain(byte, part) ? byte : `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}

/** The escaped form in the source if it is valid, else the canonical one. */
function escapedAsWritten(written: string, part: "path" | "fragment"): string {
  const legal = Array.from(written).every((byte) => isPlain(byte, part) || "!$&'()*+,;=:@[]%".includes(byte));
  return legal ? written : encode(decode(written, part), part);
}

/** Returns the result of `read`, or Go's text of its UrlError. */
function attempt<T>(shown: string, read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof UrlError) return `parse ${quotedBytes(shown)}: ${error.message}`;
    throw error;
  }
}

/** The error of Go's url.ParseRequestURI; undefined for an absolute URL or an absolute path. */
export function urlProblem(text: string): string | undefined {
  const bytes = toBytes(text);
  const result = attempt(bytes, () => parse(bytes, true));
  return typeof result === "string" ? result : undefined;
}

/** Parses an absolute URL or an absolute path; returns the error text of Go for any other text. */
export function parseUrl(text: string): Url | string {
  const problem = urlProblem(text);
  if (problem !== undefined) return problem;
  const bytes = toBytes(text);
  const [before = "", ...after] = bytes.split("#");
  const url = attempt(before, () => parse(before, false));
  if (typeof url === "string") return url;
  const fragment = after.join("#");
  const checked = attempt(bytes, () => decode(fragment, "fragment").length);
  return typeof checked === "string" ? checked : { ...url, fragment };
}

/** Parses everything except the fragment. `request`: a text without a scheme must be an absolute path. */
function parse(bytes: string, request: boolean): Url {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: URLs with these are invalid.
  if (/[\x00-\x1f\x7f]/.test(bytes)) throw new UrlError("net/url: invalid control character in URL");
  if (bytes === "" && request) throw new UrlError("empty url");
  const url = { scheme: "", opaque: "", user: undefined, host: "", path: "", query: "", fragment: "" };
  const flags = { emptyQuery: false, omitHost: false };
  if (bytes === "*") return { ...url, ...flags, path: "*" };
  if (bytes.startsWith(":")) throw new UrlError("missing protocol scheme");
  const name = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(bytes)?.[1];
  const scheme = name?.toLowerCase() ?? "";
  const rest = name === undefined ? bytes : bytes.slice(name.length + 1);
  const mark = rest.indexOf("?");
  const emptyQuery = mark >= 0 && mark === rest.length - 1;
  const query = mark < 0 ? "" : rest.slice(mark + 1);
  let path = mark < 0 ? rest : rest.slice(0, mark);
  const result = { ...url, ...flags, scheme, emptyQuery, query };
  if (!path.startsWith("/")) {
    if (scheme !== "") return { ...result, opaque: path };
    if (request) throw new UrlError("invalid URI for request");
    if (path.split("/")[0]!.includes(":")) {
      throw new UrlError("first path segment in URL cannot contain colon");
    }
  }
  let authority: { user: string | undefined; host: string } = { user: undefined, host: "" };
  let omitHost = false;
  if ((scheme !== "" || (!request && !path.startsWith("///"))) && path.startsWith("//")) {
    const slash = path.indexOf("/", 2);
    authority = parseAuthority(scheme, slash < 0 ? path.slice(2) : path.slice(2, slash));
    path = slash < 0 ? "" : path.slice(slash);
  } else omitHost = scheme !== "";
  decode(path, "path");
  return { ...result, ...authority, path, omitHost };
}

function parseAuthority(scheme: string, text: string): { user: string | undefined; host: string } {
  const at = text.lastIndexOf("@");
  const host = parseHost(scheme, text.slice(at + 1));
  if (at < 0) return { user: undefined, host };
  const user = text.slice(0, at);
  if (!/^[A-Za-z0-9._:~!$&'()*+,;=%@-]*$/.test(user)) throw new UrlError("net/url: invalid userinfo");
  const colon = user.indexOf(":");
  const parts = colon < 0 ? [user] : [user.slice(0, colon), user.slice(colon + 1)];
  return { user: parts.map((part) => encode(decode(part, "user"), "user")).join(":"), host };
}

const isPort = (text: string): boolean => /^(:[0-9]*)?$/.test(text);

function checkPort(text: string): void {
  if (!isPort(text)) throw new UrlError(`invalid port ${quotedBytes(text)} after host`);
}

function parseHost(scheme: string, text: string): string {
  const bracket = text.lastIndexOf("[");
  if (bracket > 0) throw new UrlError("invalid IP-literal");
  if (bracket === 0) return parseLiteral(text);
  const first = text.indexOf(":");
  if (first >= 0) {
    // More than one colon is an error only for http and https.
    const web = scheme === "http" || scheme === "https";
    checkPort(text.slice(web ? first : text.lastIndexOf(":")));
  }
  return decode(text, "host");
}

/** Parses an IPv6 address in brackets, with an optional zone after `%25`. */
function parseLiteral(text: string): string {
  const close = text.lastIndexOf("]");
  if (close < 0) throw new UrlError("missing ']' in host");
  const port = text.slice(close + 1);
  checkPort(port);
  const name = text.slice(1, close);
  const zone = name.indexOf("%25");
  const host =
    zone < 0 ? decode(name, "host") : decode(name.slice(0, zone), "host") + decode(name.slice(zone), "zone");
  const address = parseAddress(fromBytes(host));
  if (typeof address === "string") throw new UrlError(`invalid host: ${address}`);
  if (address.bits === 32) throw new UrlError("invalid IP-literal");
  return `[${host}]${port}`;
}

/** Splits a host into its name, without brackets, and its port. */
export function splitHost(host: string): { name: string; port: string } {
  const colon = host.lastIndexOf(":");
  const split = colon >= 0 && isPort(host.slice(colon));
  const name = split ? host.slice(0, colon) : host;
  const bare = name.startsWith("[") && name.endsWith("]") ? name.slice(1, -1) : name;
  return { name: bare, port: split ? host.slice(colon + 1) : "" };
}

export const escapedPath = (url: Url): string => escapedAsWritten(url.path, "path");

/** Maximum number of settings in a query. */
const maxQuerySettings = 10_000;

/**
 * The values of the query by name. Invalid settings are left out; a query with too many settings has no
 * values.
 */
export function queryValues(url: Url): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  const settings = url.query.split("&");
  if (settings.length > maxQuerySettings) return values;
  for (const setting of settings) {
    if (setting === "" || setting.includes(";")) continue;
    const [name = "", ...rest] = setting.split("=");
    const read = attempt("", () => [name, rest.join("=")].map((part) => fromBytes(decode(part, "query"))));
    if (typeof read === "string") continue;
    values.set(read[0]!, [...(values.get(read[0]!) ?? []), read[1]!]);
  }
  return values;
}

/** The text of the URL, by which URLs are compared. */
export function urlText(url: Url): string {
  const { scheme, user, host, path } = url;
  let text = scheme === "" ? "" : `${scheme}:`;
  if (url.opaque !== "") text += url.opaque;
  else {
    const named = host !== "" || user !== undefined;
    if (named || (scheme !== "" && !url.omitHost && path !== "")) text += "//";
    if (user !== undefined) text += `${user}@`;
    text += encode(host, "host") + escapedPath(url);
  }
  if (url.emptyQuery || url.query !== "") text += `?${url.query}`;
  return url.fragment === "" ? text : `${text}#${escapedAsWritten(url.fragment, "fragment")}`;
}
