import { apiVersionOf, type KubeObject, StatusError } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { convert } from "../registry/conversion/index.ts";
import { listForms, listResponse } from "../representation.ts";
import { listOptions } from "../request/options.ts";
import type { Stored } from "../storage/cache.ts";
import { accepted, type Context, headersOf, tableOptions } from "./context.ts";
import { reach } from "./freshness.ts";
import { selectionOf } from "./select.ts";

/** Where the next page begins: the key it is behind, and the revision that all pages show. */
interface Continue {
  readonly v: "meta.k8s.io/v1";
  readonly rv: number;
  readonly start: string;
}

/** GET of a collection: one page of it, at one revision. */
export async function listObjects(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const wanted = accepted(context, listForms, { collection: true });
  const options = listOptions(info.query, false);
  const selection = selectionOf(served, options);
  const version = versionOf(options.resourceVersion);
  const cache = registry.cache(served);
  const prefix =
    served.namespaced && info.namespace !== "" ? `${cache.prefix}${info.namespace}/` : cache.prefix;
  // With resourceVersion=0 whatever is in the cache will do, and the limit is not kept.
  const limit = options.resourceVersion === "0" ? 0 : options.limit;
  let after: string | undefined;
  let revision = registry.storage.revision;
  let found: Iterable<Stored> | undefined;
  if (options.continue !== "") {
    if (version > 0) {
      throw StatusError.of("BadRequest", "specifying resource version is not allowed when using continue");
    }
    const token = parseContinue(options.continue);
    after = `${prefix}${token.start}`;
    revision = token.rv;
    found = cache.rangeAt(revision, prefix, after);
    if (found === undefined) {
      throw StatusError.of(
        "Expired",
        "the continue token is too old: the list it belongs to is no longer known; list again",
      );
    }
  } else {
    const exact =
      options.resourceVersionMatch === "Exact" ||
      (version > 0 && limit > 0 && options.resourceVersionMatch === "");
    if (version > 0) await reach(context, version);
    revision = exact ? version : registry.storage.revision;
    found = exact ? cache.rangeAt(revision, prefix) : cache.range(prefix);
    if (found === undefined) {
      throw StatusError.of("Expired", `too old resource version: ${version} (${registry.storage.revision})`);
    }
  }
  const items: KubeObject[] = [];
  let last = "";
  let remaining = 0;
  for (const { key, object } of found) {
    if (!selection.matches(object)) continue;
    if (limit > 0 && items.length === limit) {
      remaining++;
      if (!selection.all) break;
      continue;
    }
    items.push(convert(object, served.stored, served));
    last = key;
  }
  const metadata = {
    resourceVersion: String(revision),
    ...(remaining > 0
      ? {
          continue: continueToken({ v: "meta.k8s.io/v1", rv: revision, start: last.slice(prefix.length) }),
          ...(selection.all ? { remainingItemCount: remaining } : {}),
        }
      : {}),
  };
  const list = { kind: `${served.kind}List`, apiVersion: apiVersionOf(served), metadata, items };
  return listResponse(list, served, wanted, tableOptions(context), headersOf(context));
}

/** 0 for "any" and "newest". Throws 400 for what is no version. */
function versionOf(text: string): number {
  if (text === "") return 0;
  if (!/^\d+$/.test(text)) {
    const quoted = JSON.stringify(text);
    throw StatusError.of(
      "BadRequest",
      `invalid resource version: resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`,
    );
  }
  return Number(text);
}

function continueToken(token: Continue): string {
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

/** Throws 400 where the text is no base64 for URLs, in the words of Go. */
function checkBase64(text: string): void {
  const wrong = /[^A-Za-z0-9_-]/.exec(text)?.index ?? (text.length % 4 === 1 ? text.length - 1 : undefined);
  if (wrong === undefined) return;
  throw StatusError.of(
    "BadRequest",
    `invalid continue token: continue key is not valid: illegal base64 data at input byte ${wrong}`,
  );
}

function parseContinue(text: string): Continue {
  checkBase64(text);
  const decoded = Buffer.from(text, "base64url").toString("latin1");
  try {
    const token = JSON.parse(decoded) as Continue;
    if (typeof token.start === "string" && Number.isSafeInteger(token.rv)) return token;
  } catch {
    const first = decoded.codePointAt(0) ?? 0;
    const character =
      first >= 0x20 && first < 0x7f ? decoded[0]! : `\\u${first.toString(16).padStart(4, "0")}`;
    throw StatusError.of(
      "BadRequest",
      `invalid continue token: continue key is not valid: invalid character '${character}' looking for beginning of value`,
    );
  }
  throw StatusError.of("BadRequest", "invalid continue token: continue key is not valid: it names no start");
}
