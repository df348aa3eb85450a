import { apiVersionOf, StatusError } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { CompactedError } from "@dray/store";
import { accepted } from "../encoding/accepted.ts";
import { listResponse, resourceForms } from "../encoding/representation.ts";
import { convert, prepareConversion } from "../kinds/conversion.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { type ListOptions, listOptions } from "../request/options.ts";
import { versionProblem } from "../request/version.ts";
import type { Stored } from "../storage/cache.ts";
import { readFailure } from "../storage/failures.ts";
import { type Context, representation } from "./context.ts";
import { continueToken, expiredContinue, parseContinue } from "./continue.ts";
import { waitForRevision } from "./freshness.ts";
import { Page } from "./page.ts";
import { selectionOf } from "./select.ts";

/** Handles GET of a collection: one page of it, at one revision. */
export async function listObjects(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const { storage } = registry;
  const encoding = accepted(context, resourceForms);
  const options = listOptions(info.query, false);
  const selection = selectionOf(served, options);
  const version = parseVersion(options.resourceVersion);
  const cache = registry.cache(served);
  const prefix =
    served.namespaced && info.namespace !== "" ? `${cache.prefix}${info.namespace}/` : cache.prefix;
  // With resourceVersion=0 the cached state is returned, and the limit is ignored.
  const limit = options.resourceVersion === "0" ? 0 : options.limit;
  const token = options.continue === "" ? undefined : parseContinue(options.continue);
  if (token !== undefined && version > 0) {
    throw StatusError.of("BadRequest", "specifying resource version is not allowed when using continue");
  }
  // A name in a namespace selects at most one object, which is read directly, without pages. A token requests
  // a page.
  const one =
    token === undefined && selection.name !== undefined && (!served.namespaced || info.namespace !== "");
  const exact = token ? Math.max(token.revision, 0) : exactRevision(options, version, one);
  if (exact > 0) await waitForRevision(context, exact);
  else if (version > 0) await waitForRevision(context, version);
  else if (token !== undefined || options.resourceVersion === "") await storage.current();
  const revision = exact || storage.revision;
  const page = new Page(selection, limit, one);
  if (selection.all) page.behind = storage.remainingCounts.get(prefix, options.continue);
  const start = token && prefix + token.start;
  try {
    const found = storage.objectsAt(cache, revision, prefix, start);
    // Objects of a cache must be copied before the next event.
    if (selection.converts) page.fill(await prepared(found, served));
    else if (Symbol.iterator in found) page.fill(found);
    else await page.read(found);
  } catch (error) {
    if (!(error instanceof CompactedError)) throw readFailure(error);
    if (token !== undefined) throw expiredContinue(token.start);
    throw compactedError();
  }
  const { remaining } = page;
  const next =
    remaining > 0
      ? continueToken({ start: `/${page.last.slice(prefix.length)}\u0000`, revision })
      : undefined;
  if (next !== undefined && selection.all) storage.remainingCounts.set(prefix, next, remaining);
  const metadata = {
    resourceVersion: String(revision),
    ...(next === undefined ? {} : { continue: next }),
    ...(next !== undefined && selection.all ? { remainingItemCount: remaining } : {}),
  };
  await prepareConversion(page.items, served);
  const items = page.items.map((object) => convert(object, served.stored, served));
  const list = { kind: served.listKind, apiVersion: apiVersionOf(served), metadata, items };
  return listResponse(list, representation(context, encoding));
}

/** Returns all objects, converted: they are selected by their form in the requested version. */
async function prepared(
  found: Iterable<Stored> | AsyncIterable<Stored>,
  served: ServedResource,
): Promise<readonly Stored[]> {
  const all: Stored[] = [];
  if (Symbol.iterator in found) for (const stored of found) all.push(stored);
  else for await (const stored of found) all.push(stored);
  const objects = all.map(({ object }) => object);
  await prepareConversion(objects, served);
  return all;
}

/** Returns the exact revision of a list; 0 for the newest, or the newest in the cache. */
function exactRevision({ resourceVersionMatch, limit }: ListOptions, version: number, one: boolean): number {
  // This is what a page meant before resourceVersionMatch existed.
  const exact = resourceVersionMatch === "Exact" || (resourceVersionMatch === "" && limit > 0 && !one);
  return exact ? version : 0;
}

/** 0 for "any" and "newest". Throws 400 for an invalid version. */
export function parseVersion(text: string): number {
  const problem = versionProblem(text);
  if (problem !== undefined) throw StatusError.of("BadRequest", `invalid resource version: ${problem}`);
  return Number(text);
}

/** Returns the error for a compacted version. */
export const compactedError = (): StatusError =>
  StatusError.of("Expired", "The resourceVersion for the provided list is too old.");
