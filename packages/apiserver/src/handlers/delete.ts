import { apiVersionOf, type KubeObject, StatusError } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { CompactedError } from "@dray/store";
import { accepted } from "../encoding/accepted.ts";
import { listResponse, objectResponse, resourceForms } from "../encoding/representation.ts";
import { converted, prepareConversion } from "../kinds/conversion.ts";
import { type DeleteOptions, listOptions, type WriteOptions } from "../request/options.ts";
import type { Stored } from "../storage/cache.ts";
import { readFailure } from "../storage/failures.ts";
import { type Context, representation } from "./context.ts";
import { parseContinue } from "./continue.ts";
import { readDeleteOptions } from "./delete-options.ts";
import { waitForRevision } from "./freshness.ts";
import { compactedError, parseVersion } from "./list.ts";
import { selectionOf } from "./select.ts";
import { writeOf } from "./write.ts";

/** Objects of a collection that are deleted at the same time. */
const collectionWorkers = 16;

const noManager: WriteOptions = { dryRun: false, fieldManager: "", fieldValidation: "Ignore", force: false };

/** Handles DELETE of one object. */
export async function deleteObject(context: Context): Promise<ApiResponse> {
  const { served, registry } = context;
  const encoding = accepted(context, resourceForms);
  const options = await readDeleteOptions(context);
  warnOfDeletion(context, options);
  const deletion = await registry.delete(writeOf(context, noManager), options);
  const { isRemoved, object, shown } = deletion;
  const answer = isRemoved && !shown ? registry.deletionResponse(served, object) : object;
  const status = !isRemoved && options.orphanDependents === false ? 202 : 200;
  return objectResponse(status, answer, representation(context, encoding));
}

function warnOfDeletion({ registry, served, warnings }: Context, options: DeleteOptions): void {
  for (const text of registry.strategy(served).warnOfDeletion?.(options) ?? []) warnings.add(text);
}

/** Handles DELETE of all selected objects of a collection; returns the deleted objects. */
export async function deleteCollection(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const encoding = accepted(context, resourceForms);
  const selected = listOptions(info.query, false);
  const options = await readDeleteOptions(context);
  const selection = selectionOf(served, selected);
  warnOfDeletion(context, options);
  const version = parseVersion(selected.resourceVersion);
  if (selected.continue !== "") parseContinue(selected.continue);
  if (version > 0) await waitForRevision(context, version);
  const cache = registry.cache(served);
  const prefix =
    served.namespaced && info.namespace !== "" ? `${cache.prefix}${info.namespace}/` : cache.prefix;
  // The collection is read in pages, so that a version alone means exactly that one.
  const exact = version > 0 && selected.resourceVersionMatch !== "NotOlderThan";
  const all = exact ? await objectsAt(context, version, prefix) : [...cache.range(prefix)];
  if (selection.converts)
    await prepareConversion(
      all.map(({ object }) => object),
      served,
    );
  const found = all.filter(({ object }) => selection.matches(object));
  const write = { ...writeOf(context, noManager), collection: true as const };
  await eachOf(found, context.request.signal, async ({ object: { metadata } }) => {
    try {
      await registry.delete({ ...write, namespace: metadata.namespace ?? "", name: metadata.name }, options);
    } catch (error) {
      // An object that is gone already is what the client wants.
      if (!StatusError.is(error, "NotFound")) throw error;
    }
  });
  const items: KubeObject[] = [];
  for (const { object } of found) items.push(await converted(object, served.stored, served));
  const list = {
    kind: served.listKind,
    apiVersion: apiVersionOf(served),
    metadata: { resourceVersion: String(registry.storage.revision) },
    items,
  };
  return listResponse(list, representation(context, encoding));
}

/**
 * Deletes some at a time: writes that wait together share a sync of the disk. Stops at the first error, and
 * when the client has gone or the time of the request is over.
 *
 * Upstream: registry/generic/registry/store.go, DeleteCollection; its workers (--delete-collection-workers).
 */
async function eachOf(
  found: readonly Stored[],
  signal: AbortSignal,
  remove: (stored: Stored) => Promise<void>,
): Promise<void> {
  const rest = found.values();
  let failed = false;
  const work = async (): Promise<void> => {
    for (const stored of rest) {
      if (failed) return;
      signal.throwIfAborted();
      await remove(stored).catch((error: unknown) => {
        failed = true;
        throw error;
      });
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: collectionWorkers }, work));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Returns the objects of the collection at a version. Throws 410 if it is compacted. */
async function objectsAt({ registry, served }: Context, version: number, prefix: string): Promise<Stored[]> {
  try {
    const found = registry.storage.objectsAt(registry.cache(served), version, prefix);
    // Objects of a cache must be copied before the next event.
    if (Symbol.iterator in found) return [...found];
    const objects: Stored[] = [];
    for await (const stored of found) objects.push(stored);
    return objects;
  } catch (error) {
    throw error instanceof CompactedError ? compactedError() : readFailure(error);
  }
}
