import { type KubeObject, StatusError } from "@dray/api";
import type { List, ListQuery, ResourceClient } from "./resource-client.ts";

const defaultLimit = 500;

/**
 * Lists all objects that the query selects, in pages of `limit` (500 if absent). If the pages expire before
 * the last one is read (410 Gone), the whole list is read at once.
 *
 * Upstream: client-go, tools/pager.
 */
export async function listAll<T extends KubeObject>(
  resource: ResourceClient<T>,
  query: Omit<ListQuery, "continue"> = {},
  options: { readonly signal?: AbortSignal } = {},
): Promise<List<T>> {
  const { limit = defaultLimit, resourceVersion, resourceVersionMatch, ...selection } = query;
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
    for (const item of page.items) items.push(item);
  }
  return Object.freeze({ resourceVersion: page.resourceVersion, items: Object.freeze(items) });
}

/** Reports an error of 410 Gone or of reason Expired: the requested revision or page no longer exists. */
export function isGone(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 410 || error.reason === "Expired");
}
