import { type KubeObject, StatusError } from "@dray/api";
import type { List, ListQuery, ResourceClient } from "./resource-client.ts";

const pageSize = 500;

/**
 * All objects that the query selects, read in pages of `limit` (500 if absent). If the pages expire before the last is
 * read (410 Gone), the whole list is read at once, as client-go's pager does.
 */
export async function listAll<T extends KubeObject>(
  resource: ResourceClient<T>,
  query: Omit<ListQuery, "continue"> = {},
  options: { readonly signal?: AbortSignal } = {},
): Promise<List<T>> {
  const { limit = pageSize, resourceVersion, resourceVersionMatch, ...selection } = query;
  const revision = {
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(resourceVersionMatch === undefined ? {} : { resourceVersionMatch }),
  };
  let page = await resource.list({ ...selection, ...revision, limit }, options);
  if (page.continue === undefined) return page;
  const items = [...page.items];
  while (page.continue !== undefined) {
    try {
      page = await resource.list({ ...selection, limit, continue: page.continue }, options);
    } catch (error) {
      if (!isGone(error)) throw error;
      return resource.list({ ...selection, ...revision }, options);
    }
    for (const each of page.items) items.push(each);
  }
  return Object.freeze({ resourceVersion: page.resourceVersion, items: Object.freeze(items) });
}

/** 410 Gone or a reason of Expired: what was asked for is no longer there to be read. */
export function isGone(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 410 || error.reason === "Expired");
}
