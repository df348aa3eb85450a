/** Random pods, and functions that compare them in tests. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { apply, builtInType, type ObjectType } from "./index.ts";

export type Json = { readonly [key: string]: unknown };
export interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly time?: string;
  readonly fieldsV1: Json;
}

export const early = "2026-01-01T00:00:00Z";
export const late = "2026-01-02T00:00:00Z";
export const podType = typeOf("v1", "Pod");
export const configMapType = typeOf("v1", "ConfigMap");

function typeOf(apiVersion: string, kind: string): ObjectType {
  const type = builtInType(apiVersion, kind);
  assert.ok(type);
  return type;
}

export function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) freeze(item);
    Object.freeze(value);
  }
  return value;
}

export function entries(object: Json): readonly Entry[] {
  return ((object["metadata"] as Json)["managedFields"] ?? []) as readonly Entry[];
}

const key = fc.constantFrom("a", "b", "c", "d");
const text = fc.constantFrom("1", "2", "3", 'q"<&', "");
const labels = fc.dictionary(key, text);

function named<T extends object>(rest: fc.Arbitrary<T>): fc.Arbitrary<(T & { name: string })[]> {
  return fc.uniqueArray(
    fc.tuple(key, rest).map(([name, other]) => ({ ...other, name })),
    { selector: (item) => item.name, maxLength: 4 },
  );
}

const container = fc.record(
  {
    image: text,
    args: fc.array(text, { maxLength: 2 }),
    env: named(fc.record({ value: text }, { requiredKeys: [] })),
    ports: fc.uniqueArray(fc.record({ containerPort: fc.integer({ min: 1, max: 3 }) }), {
      selector: (port) => port.containerPort,
      maxLength: 3,
    }),
    resources: fc.record({ limits: fc.dictionary(key, text) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

export const pod = fc
  .record({
    metadata: fc.record(
      { labels, finalizers: fc.uniqueArray(text, { maxLength: 3 }), annotations: labels },
      { requiredKeys: [] },
    ),
    spec: fc.record(
      {
        containers: named(container),
        nodeSelector: labels,
        tolerations: fc.array(fc.record({ key }), { maxLength: 2 }),
        schedulingGates: named(fc.constant({})),
      },
      { requiredKeys: [] },
    ),
  })
  .map(
    ({ metadata, spec }): Json =>
      freeze(compact({ apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name: "p" }, spec }) as Json),
  );

/** Returns an object as the server stores it after decoding: nulls mean unset. */
export function stored(object: Json): Json {
  const { managedFields, ...metadata } = object["metadata"] as Json;
  const entries = managedFields === undefined ? {} : { managedFields };
  const plain = compact({ ...object, metadata }) as Json;
  return { ...plain, metadata: { ...(plain["metadata"] as Json), ...entries, uid: "u" } };
}

/** Removes nulls and empty lists and objects, which are equivalent to unset in all fields of these pods. */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value)
    .map(([name, item]) => [name, compact(item)] as const)
    .filter(
      ([, item]) => item !== null && !(typeof item === "object" && Object.keys(item as object).length === 0),
    );
  return Object.fromEntries(kept);
}

export function applied(
  live: Json | undefined,
  body: Json,
  manager: string,
  { now, force = false }: { readonly now: string; readonly force?: boolean },
): Json {
  return freeze(
    apply({
      live: live && freeze(stored(live)),
      applied: body,
      manager,
      force,
      type: podType,
      subresource: "",
      now,
    }),
  );
}

export function someEntry(): Json {
  return {
    manager: "a",
    operation: "Apply",
    apiVersion: "v1",
    time: early,
    fieldsType: "FieldsV1",
    fieldsV1: { "f:metadata": { "f:labels": { "f:x": {} } } },
  };
}

export function ownedBy(object: Json, manager: string): Json | undefined {
  return entries(object).find((entry) => entry.manager === manager)?.fieldsV1;
}

export function fields(entry: Entry): Json {
  return entry.fieldsV1;
}

/** Sorts all lists of an object; the order of a keyed list has no owner. */
export function unordered(object: Json): unknown {
  const { managedFields: _, ...metadata } = stored(object)["metadata"] as Json;
  return sorted({ spec: stored(object)["spec"] ?? {}, metadata });
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(sorted).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (!isMap(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}

/** Returns the objects as sent over the wire, without their prototypes. */
export function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

export function reversed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, item]) => [name, reversed(item)] as const)
      .reverse(),
  );
}

const mergeKeys: Readonly<Record<string, string>> = {
  containers: "name",
  env: "name",
  schedulingGates: "name",
  ports: "containerPort",
};

/** Returns the strategic patch that kubectl would compute, by the rules of its documentation. */
export function difference(from: Json, to: Json): Json {
  const patch: { [key: string]: unknown } = {};
  for (const name of Object.keys(from)) if (!(name in to)) patch[name] = null;
  for (const [name, wanted] of Object.entries(to)) {
    const current = from[name];
    if (JSON.stringify(current) === JSON.stringify(wanted)) continue;
    const mergeKey = mergeKeys[name];
    if (Array.isArray(current) && Array.isArray(wanted) && name === "finalizers") {
      if (wanted.length + current.length === 0) continue;
      patch[`$deleteFromPrimitiveList/${name}`] = current.filter((item) => !wanted.includes(item));
      patch[name] = wanted.filter((item) => !current.includes(item));
      patch[`$setElementOrder/${name}`] = wanted;
    } else if (Array.isArray(current) && Array.isArray(wanted) && mergeKey !== undefined) {
      const items = (list: readonly unknown[]): Map<unknown, Json> =>
        new Map((list as Json[]).map((item) => [item[mergeKey], item]));
      const before = items(current);
      const after = items(wanted);
      const changes = [...after].map(([id, item]) => {
        const known = before.get(id);
        return known === undefined ? item : { ...difference(known, item), [mergeKey]: id };
      });
      const gone = [...before.keys()].filter((id) => !after.has(id));
      patch[name] = [...changes, ...gone.map((id) => ({ $patch: "delete", [mergeKey]: id }))];
      patch[`$setElementOrder/${name}`] = [...after.keys()].map((id) => ({ [mergeKey]: id }));
    } else if (isMap(current) && isMap(wanted)) {
      patch[name] = difference(current, wanted);
    } else {
      patch[name] = wanted;
    }
  }
  return patch;
}

function isMap(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
