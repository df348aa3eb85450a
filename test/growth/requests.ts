import type { KindRow } from "@dray/api/schema";
import type { Sent } from "../fuzz/target.ts";
import type { Examples, Tree } from "./examples.ts";
import { type Growth, grown } from "./grow.ts";
import { nameOf, type Place } from "./places.ts";

const json = "application/json";
const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const jsonPatch = "application/json-patch+json";
const apply = "application/apply-patch+yaml";

const namespace = "default";

/** Of entries, all of which have as many digits. */
const firstNumber = 10_000;

/** Maximum number of operations of a JSON patch. */
const maxOperations = 10_000;

export function send(method: string, url: string, body: unknown, type = json): Sent {
  const headers = { accept: json, "user-agent": "growth/1", "content-type": type };
  return { method, url, headers, body: Buffer.from(JSON.stringify(body)) };
}

const read = (url: string, accept: string): Sent => ({
  method: "GET",
  url,
  headers: { accept, "user-agent": "growth/1" },
});

/** The path of the collection that has the kind. */
export function collectionOf({ group, version, resource, namespaced }: KindRow): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespaced ? `${root}/namespaces/${namespace}/${resource}` : `${root}/${resource}`;
}

/** The object under another name, without what an earlier server has set. */
export function named(body: Tree, { namespaced }: KindRow, name: string): Tree {
  const {
    uid: _u,
    resourceVersion: _r,
    generateName: _g,
    namespace: _n,
    ...metadata
  } = (body["metadata"] ?? {}) as Tree;
  return { ...body, metadata: { ...metadata, name, ...(namespaced ? { namespace } : {}) } };
}

/** A way to write or read an object. */
export interface Operation {
  readonly name: string;
  readonly sent: Sent;
}

export interface Subject {
  readonly row: KindRow;
  /** A valid object of the kind. */
  readonly base: Tree;
  /** Places that are made long at once, those within another after it. */
  readonly places: readonly [Place, ...Place[]];
  readonly examples: Examples;
  readonly name: string;
}

/** Writes and reads of an object with `count` entries at each place, in the order in which they are sent. */
export function operationsOf(subject: Subject, count: number): Operation[] {
  const { row, base, places, examples, name } = subject;
  const [place] = places;
  const object = (growth: Partial<Growth>): Tree =>
    places.reduce((made, each) => grown(made, each, examples, { count, from: firstNumber, ...growth }), base);
  const field = place.path[0];
  const isStatus = field?.step === "field" && field.name === "status";
  const collection = collectionOf(row);
  const url = `${collection}/${encodeURIComponent(name)}${isStatus ? "/status" : ""}`;
  const [first, second] = [object({}), object({ from: firstNumber + Math.ceil(count / 3) })];
  const patch = (operation: string, type: string, body: unknown, query = ""): Operation => ({
    name: operation,
    sent: send("PATCH", `${url}${query}`, body, type),
  });
  const manager = "?fieldManager=f&force=true";
  return [
    { name: "create", sent: send("POST", collection, isStatus ? base : first) },
    // Where the object is invalid, the changes are those of a small one.
    { name: "create base", sent: send("POST", collection, base) },
    { name: "update", sent: send("PUT", url, first) },
    { name: "get", sent: read(url, json) },
    { name: "table", sent: read(url, table) },
    { name: "yaml", sent: read(url, "application/yaml") },
    { name: "protobuf", sent: read(url, "application/vnd.kubernetes.protobuf") },
    { name: "update, others", sent: send("PUT", url, second) },
    { name: "update, alike", sent: send("PUT", url, object({ same: true })) },
    patch("strategic patch", strategic, first),
    patch("strategic patch, others", strategic, second),
    patch("strategic patch, alike", strategic, object({ same: true })),
    patch("merge patch", merge, second),
    patch("merge patch of a label", merge, { metadata: { labels: { growth: "1" } } }),
    patch("JSON patch", jsonPatch, jsonPatchOf(first, place, count)),
    patch("apply", apply, first, manager),
    patch("apply, others", apply, second, manager),
    patch("apply, alike", apply, object({ same: true }), manager),
    patch("apply, none", apply, base, manager),
    patch("merge patch, back", merge, first),
    { name: "delete", sent: send("DELETE", `${collection}/${name}`, { gracePeriodSeconds: 0 }) },
    // Nothing holds it back any more.
    {
      name: "cleanup",
      sent: send("PATCH", `${collection}/${name}`, { metadata: { finalizers: null } }, merge),
    },
  ];
}

/** One operation for each entry. */
function jsonPatchOf(object: Tree, place: Place, count: number): object[] {
  let value: unknown = object;
  const pointer = place.path.map((segment) => {
    const key =
      segment.step === "field"
        ? segment.name
        : segment.step === "element"
          ? "0"
          : Object.keys(value as Tree)[0]!;
    value = (value as Tree)[key];
    return `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  });
  const at = pointer.join("");
  const entries = Object.entries(value as Tree).slice(0, Math.min(count, maxOperations - 1));
  const isList = Array.isArray(value);
  return [
    { op: "add", path: at, value: isList ? [] : {} },
    ...entries.map(([key, entry]) => ({
      op: "add",
      path: `${at}/${isList ? "-" : key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      value: entry,
    })),
  ];
}

export function titleOf({ row, places }: Pick<Subject, "row" | "places">): string {
  const { group, version, kind } = row;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return `${apiVersion} ${kind} ${places.length > 1 ? "all" : nameOf(places[0])}`;
}
