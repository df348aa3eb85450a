import { parseFieldSelector } from "@dray/api";
import type { RequestInfo } from "../request/info.ts";

/** Number of watches of one resource name: in total, and by group, namespace and name. */
interface WatchCounts {
  total: number;
  readonly byScope: Map<string, number>;
}

const scopeKey = (group: string, namespace: string, name: string): string =>
  `${group}\0${namespace}\0${name}`;

/**
 * Counts the watches that receive an event of a write.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/watch_tracker.go
 */
export class WatchTracker {
  readonly #watched = new Map<string, WatchCounts>();

  /** Returns a function that removes the watch; to be called once. */
  add(info: RequestInfo): () => void {
    // Upstream's watch cache is indexed by node: watches of another node cost nothing.
    if (info.resource === "pods" && selectsNode(info)) return () => {};
    const key = scopeKey(info.group, info.namespace, info.name);
    this.#change(info.resource, key, 1);
    return () => this.#change(info.resource, key, -1);
  }

  /**
   * Returns the count if it is at least `minimum`, otherwise 0: an exact small count is not worth the time.
   */
  count({ group, resource, namespace, name }: RequestInfo, minimum: number): number {
    const watched = this.#watched.get(resource);
    if (watched === undefined || watched.total < minimum) return 0;
    const of = (key: string): number => watched.byScope.get(key) ?? 0;
    let count = of(scopeKey(group, "", ""));
    if (namespace !== "") count += of(scopeKey(group, namespace, ""));
    if (name !== "") count += of(scopeKey(group, namespace, name));
    return count < minimum ? 0 : count;
  }

  #change(resource: string, key: string, difference: 1 | -1): void {
    const watched = this.#watched.get(resource) ?? { total: 0, byScope: new Map<string, number>() };
    const count = (watched.byScope.get(key) ?? 0) + difference;
    watched.total += difference;
    if (count === 0) watched.byScope.delete(key);
    else watched.byScope.set(key, count);
    if (watched.total === 0) this.#watched.delete(resource);
    else this.#watched.set(resource, watched);
  }
}

function selectsNode({ query }: RequestInfo): boolean {
  const text = query.get("fieldSelector") ?? "";
  if (!text.includes("spec.nodeName")) return false;
  try {
    return parseFieldSelector(text).requirements.some(
      ({ field, operator, value }) => field === "spec.nodeName" && operator === "=" && value !== "",
    );
  } catch {
    // The watch will be rejected.
    return false;
  }
}
