/** A transport whose server has odd objects of every kind beside its own. */
import { deepFreeze, type KubeObject } from "@dray/api";
import { kindByResource } from "@dray/api/codec";
import type { KindRow } from "@dray/api/schema";
import type { Transport, WatchFrame } from "@dray/client";
import { type OddOptions, oddObject } from "./odd-objects.ts";
import { Random } from "./random.ts";

/** Names of the odd objects of each kind. */
const oddNames = ["odd-0", "odd-1", "odd-2"];
const oddNamespace = "odd";
/** Changes of each of them after the first list. */
const changes = 3;
const initialEventsEnd = "k8s.io/initial-events-end";

/** The API server validates it. A slice with an invalid one fails every allocation, as upstream. */
const nodeSelector = {
  nodeSelectorTerms: [{ matchExpressions: [{ key: "odd", operator: "In", values: ["a"] }] }],
};

const commonOptions: OddOptions = {
  names: [...oddNames, oddNamespace, "n1"],
  fixed: {
    "resource/v1.ResourceSliceSpec.nodeSelector": nodeSelector,
    "resource/v1.Device.nodeSelector": nodeSelector,
    // An empty one selects all devices.
    "resource/v1.DeviceTaintRuleSpec.deviceSelector": { driver: "odd-0" },
    "resource/v1beta2.DeviceTaintRuleSpec.deviceSelector": { driver: "odd-0" },
    "resource/v1alpha3.DeviceTaintRuleSpec.deviceSelector": { driver: "odd-0" },
  },
};

interface Collection {
  readonly row: KindRow;
  /** The client wants metadata only. */
  readonly isPartial: boolean;
  readonly options: OddOptions;
}

/** Kinds whose objects would change what the server's own objects may do. */
const excluded: ReadonlySet<string> = new Set(["CustomResourceDefinition", "APIService", "Event"]);

/** `fixed`: values of more fields, as `OddOptions.fixed`. */
export function oddTransport(inner: Transport, seed: number, fixed: OddOptions["fixed"] = {}): Transport {
  return {
    async request(request) {
      const response = await inner.request(request);
      const collection = collectionOf(request, fixed);
      if (collection === undefined || response.status !== 200) return response;
      const random = new Random(seed + hash(request.url));
      if (response.type === "watch" && request.url.includes("sendInitialEvents=true"))
        return { ...response, events: oddEvents(response.events, collection, random) };
      if (response.type === "body" && response.object !== undefined)
        return { ...response, object: oddList(response.object, collection, random) };
      return response;
    },
    close: () => inner.close(),
  };
}

function collectionOf(
  { method, url, headers }: Parameters<Transport["request"]>[0],
  fixed: OddOptions["fixed"],
): Collection | undefined {
  if (method !== "GET") return undefined;
  const { pathname } = new URL(url, "http://x");
  const match = /^\/(?:api|apis\/([^/]+))\/([^/]+)\/([a-z]+)$/.exec(pathname);
  if (match === null) return undefined;
  const [, group = "", version = "", resource = ""] = match;
  const row = kindByResource(group, version, resource);
  if (row === undefined || excluded.has(row.kind)) return undefined;
  return {
    row,
    isPartial: String(headers["accept"]).includes("PartialObjectMetadata"),
    options: { ...commonOptions, fixed: { ...commonOptions.fixed, ...fixed } },
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const char of text) value = Math.imul(value ^ char.charCodeAt(0), 0x01000193);
  return value >>> 0;
}

function odd(
  { row, isPartial, options }: Collection,
  name: string,
  random: Random,
  resourceVersion: string,
): KubeObject {
  const tree = oddObject(row, random, options);
  const metadata = {
    ...((tree["metadata"] ?? {}) as object),
    name,
    namespace: row.namespaced ? oddNamespace : null,
    uid: `${row.kind}-${name}`,
    resourceVersion,
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  const type = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" };
  // Fields of any value.
  return deepFreeze({ ...(isPartial ? type : tree), metadata }) as unknown as KubeObject;
}

function oddList(list: object, collection: Collection, random: Random): object {
  const { items, metadata } = list as { items?: readonly object[]; metadata?: { resourceVersion?: string } };
  if (items === undefined) return list;
  const more = oddNames.map((name) => odd(collection, name, random, metadata?.resourceVersion ?? "1"));
  return Object.freeze({ ...list, items: Object.freeze([...items, ...more]) });
}

async function* oddEvents(
  events: AsyncIterable<WatchFrame>,
  collection: Collection,
  random: Random,
): AsyncGenerator<WatchFrame> {
  const frame = (type: "ADDED" | "MODIFIED" | "DELETED", name: string, revision: string): WatchFrame => ({
    event: Object.freeze({ type, object: odd(collection, name, random, revision) }) as WatchFrame["event"],
    bytes: () => Buffer.alloc(0),
  });
  for (const name of oddNames) yield frame("ADDED", name, "1");
  for await (const each of events) {
    yield each;
    const { type, object } = each.event as { readonly type: string; readonly object: KubeObject };
    if (type !== "BOOKMARK" || object.metadata.annotations?.[initialEventsEnd] !== "true") continue;
    const { resourceVersion } = object.metadata;
    for (let i = 0; i < changes; i++)
      for (const name of oddNames) yield frame("MODIFIED", name, resourceVersion);
    yield frame("DELETED", oddNames[0]!, resourceVersion);
  }
}
