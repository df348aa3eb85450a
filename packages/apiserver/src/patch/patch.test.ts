/** Laws of patches and of field ownership, on random objects. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StatusError } from "@dray/api";
import fc from "fast-check";
import {
  apply,
  type ObjectType,
  scaledManagedFields,
  scaleManagedFields,
  strategicMergePatch,
  trackUpdate,
} from "./index.ts";
import {
  applied,
  configMapType,
  difference,
  early,
  entries,
  fields,
  freeze,
  type Json,
  late,
  ownedBy,
  plain,
  pod,
  podType,
  reversed,
  someEntry,
  stored,
  unordered,
} from "./testing.ts";

describe("server-side apply", () => {
  test("applying the same object twice changes nothing, times included", () => {
    fc.assert(
      fc.property(pod, (body) => {
        const first = applied(undefined, body, "m", { now: early });
        const second = applied(first, body, "m", { now: late });
        assert.deepEqual(second, stored(first));
      }),
    );
  });

  test("an applier gets its fields, and loses only those that it omits", () => {
    fc.assert(
      fc.property(pod, pod, (one, two) => {
        const live = applied(undefined, one, "m", { now: early });
        const next = applied(live, two, "m", { now: late });
        const direct = applied(undefined, two, "m", { now: late });
        assert.deepEqual(ownedBy(next, "m"), ownedBy(direct, "m"));
        assert.deepEqual(unordered(next), unordered(direct));
      }),
    );
  });

  test("two appliers never lose each other's fields", () => {
    fc.assert(
      fc.property(pod, pod, pod, (mine, yours, again) => {
        let live = applied(undefined, mine, "me", { now: early });
        // A manager without fields has no entry: the next applier then meets an untracked object.
        fc.pre(ownedBy(live, "me") !== undefined);
        try {
          live = applied(live, yours, "you", { now: early });
        } catch (error) {
          assert.ok(StatusError.is(error, "Conflict"));
          return;
        }
        const mineBefore = entries(live).find(({ manager }) => manager === "me");
        assert.deepEqual(mineBefore, entries(applied(undefined, mine, "me", { now: early }))[0]);
        let after: Json;
        try {
          after = applied(live, again, "you", { now: late });
        } catch (error) {
          assert.ok(StatusError.is(error, "Conflict"));
          return;
        }
        assert.deepEqual(
          entries(after).find(({ manager }) => manager === "me"),
          mineBefore,
        );
        // All fields of `mine` are unchanged: applying it again causes no conflict and changes only the
        // order.
        assert.deepEqual(unordered(applied(after, mine, "me", { now: late })), unordered(after));
      }),
    );
  });

  test("a forced apply takes the fields that it changes", () => {
    const live = trackUpdate({
      live: undefined,
      updated: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "1", b: "1" } },
      manager: "creator",
      type: configMapType,
      subresource: "",
      now: early,
    });
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "2" } };
    const options = {
      live: stored(live),
      applied: body,
      manager: "m",
      type: configMapType,
      subresource: "",
      now: late,
    };
    assert.throws(
      () => apply({ ...options, force: false }),
      (error) => {
        assert.ok(error instanceof StatusError);
        assert.equal(error.code, 409);
        assert.equal(
          error.message,
          'Apply failed with 1 conflict: conflict with "creator" using v1: .data.a',
        );
        assert.deepEqual(error.status.details?.causes, [
          { reason: "FieldManagerConflict", message: 'conflict with "creator" using v1', field: ".data.a" },
        ]);
        return true;
      },
    );
    const forced = apply({ ...options, force: true });
    assert.deepEqual(
      entries(forced).map(({ manager, fieldsV1 }) => ({ manager, fieldsV1 })),
      [
        { manager: "m", fieldsV1: { "f:data": { "f:a": {} } } },
        { manager: "creator", fieldsV1: { "f:data": { ".": {}, "f:b": {} } } },
      ],
    );
  });
});

describe("schemas and versions in server-side apply", () => {
  test("an undeclared field is rejected in any case", () => {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, nosuch: "x" };
    assert.throws(
      () =>
        apply({
          live: undefined,
          applied: body,
          manager: "m",
          force: true,
          type: configMapType,
          subresource: "",
          now: early,
        }),
      {
        message:
          "failed to create typed patch object (/c; /v1, Kind=ConfigMap): .nosuch: field not declared in schema",
      },
    );
  });

  test("entries of another version are converted", () => {
    const newType: ObjectType = { ...configMapType, apiVersion: "v2" };
    const type: ObjectType = {
      ...newType,
      inVersion: (apiVersion) =>
        apiVersion === "v1"
          ? {
              type: configMapType,
              to: ({ immutable, ...object }) => ({ ...object, data: { frozen: immutable } }),
              from: ({ data, ...object }) => ({ ...object, immutable: (data as Json)["frozen"] }),
            }
          : undefined,
    };
    const entry = (apiVersion: string, fieldsV1: Json): Json => ({
      manager: `old-${apiVersion}`,
      operation: "Apply",
      apiVersion,
      time: early,
      fieldsType: "FieldsV1",
      fieldsV1,
    });
    const live = {
      apiVersion: "v2",
      kind: "ConfigMap",
      metadata: {
        name: "c",
        uid: "u",
        managedFields: [
          entry("v0", { "f:immutable": {} }),
          entry("v1", { "f:data": { "f:frozen": {}, "f:other": {} } }),
        ],
      },
      immutable: false,
    };
    const updated = trackUpdate({
      live,
      updated: { ...live, immutable: true },
      manager: "u",
      type,
      subresource: "",
      now: late,
    });
    // The v1 entry loses the field by its old name; v0 is not served any more.
    assert.deepEqual(entries(updated).map(fields), [{ "f:data": { "f:other": {} } }, { "f:immutable": {} }]);
  });
});

describe("other writes", () => {
  test("the manager owns exactly its changes, in one entry per manager", () => {
    fc.assert(
      fc.property(pod, pod, (one, two) => {
        const track = (live: Json | undefined, updated: Json, manager: string): Json =>
          freeze(trackUpdate({ live, updated, manager, type: podType, subresource: "", now: early }));
        const live = stored(track(undefined, one, "creator"));
        const updated = track(
          live,
          { ...two, metadata: { ...(two["metadata"] as Json), uid: "u" } },
          "editor",
        );
        // Writing the same object again removes nothing from other managers.
        assert.deepEqual(track(updated, updated, "third"), updated);
        const owned = entries(updated).filter(({ manager }) => manager === "editor");
        assert.ok(owned.length <= 1);
        const same =
          JSON.stringify([one["spec"], one["metadata"]]) === JSON.stringify([two["spec"], two["metadata"]]);
        if (same) assert.deepEqual(entries(updated), entries(live));
      }),
    );
  });

  test("at most ten updaters have entries of their own", () => {
    let live: Json = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", uid: "u" } };
    live = { ...live, metadata: { ...(live["metadata"] as Json), managedFields: [someEntry()] } };
    for (let i = 0; i < 14; i++) {
      const updated = { ...live, data: { ...(live["data"] as object), [`k${i}`]: "v" } };
      const now = `2026-01-01T00:00:${10 + i}Z`;
      live = trackUpdate({ live, updated, manager: `m${i}`, type: configMapType, subresource: "", now });
    }
    const updaters = entries(live).filter(({ operation }) => operation === "Update");
    assert.equal(updaters.length, 10);
    const [ancient] = updaters;
    assert.equal(ancient?.manager, "ancient-changes");
    assert.deepEqual(Object.keys((ancient?.fieldsV1["f:data"] ?? {}) as Json), [
      ".",
      "f:k0",
      "f:k1",
      "f:k2",
      "f:k3",
      "f:k4",
    ]);
  });
});

describe("emptied managedFields, and subresources", () => {
  test("a client that empties managedFields stops the tracking", () => {
    const live = stored(
      trackUpdate({
        live: undefined,
        updated: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { a: "1" } },
        manager: "m",
        type: configMapType,
        subresource: "",
        now: early,
      }),
    );
    for (const managedFields of [[], [{}]]) {
      const emptied = { ...live, metadata: { name: "c", uid: "u", managedFields }, data: { a: "2" } };
      const after = trackUpdate({
        live,
        updated: emptied,
        manager: "m",
        type: configMapType,
        subresource: "",
        now: late,
      });
      assert.deepEqual(after["metadata"], { name: "c", uid: "u" });
    }
    const without = { ...live, metadata: { name: "c", uid: "u" } };
    const kept = trackUpdate({
      live,
      updated: without,
      manager: "m",
      type: configMapType,
      subresource: "",
      now: late,
    });
    assert.deepEqual(entries(kept), entries(live));
  });

  test("a scale shares its replicas with the scaled object", () => {
    const versions = new Set(["apps/v1"]);
    const owner = {
      manager: "m",
      operation: "Update",
      apiVersion: "apps/v1",
      fieldsType: "FieldsV1",
      time: early,
    };
    const parent = [{ ...owner, fieldsV1: { "f:spec": { "f:paused": {}, "f:replicas": {} } } }];
    assert.deepEqual(scaleManagedFields(parent, versions), [
      { ...owner, apiVersion: "autoscaling/v1", fieldsV1: { "f:spec": { "f:replicas": {} } } },
    ]);
    const scaled = [
      {
        manager: "hpa",
        operation: "Update",
        apiVersion: "autoscaling/v1",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:spec": { "f:replicas": {} } },
        subresource: "scale",
      },
    ];
    assert.deepEqual(scaledManagedFields(parent, scaled, { apiVersion: "apps/v1", apiVersions: versions }), [
      { ...scaled[0], apiVersion: "apps/v1" },
      { ...owner, fieldsV1: { "f:spec": { "f:paused": {} } } },
    ]);
  });
});

describe("strategic merge", () => {
  test("the patch between two objects turns one into the other", () => {
    fc.assert(
      fc.property(pod, pod, (from, to) => {
        const patch = freeze(difference(from, to));
        assert.deepEqual(plain(strategicMergePatch(from, patch, podType)), plain(to));
      }),
    );
  });
});

describe("sets of fields", () => {
  test("an encoded set is decoded to the same set, in Kubernetes' order", () => {
    fc.assert(
      fc.property(pod, (body) => {
        const first = applied(undefined, body, "m", { now: early });
        const [entry] = entries(first);
        if (entry === undefined) return;
        const shuffled = reversed(entry.fieldsV1);
        const live = stored({
          ...first,
          metadata: { ...(first["metadata"] as Json), managedFields: [{ ...entry, fieldsV1: shuffled }] },
        });
        // An apply that adds a field builds a new set.
        const more = { ...body, spec: { ...(body["spec"] as Json), hostname: "h" } };
        const direct = applied(undefined, more, "m", { now: early });
        assert.equal(
          JSON.stringify(entries(applied(live, more, "m", { now: early })).map(fields)),
          JSON.stringify(entries(direct).map(fields)),
        );
      }),
    );
  });
});

test("a strategic merge is refused that changes one element again and again, however many elements it changes once", () => {
  const port = (index: number): object => ({ containerPort: index });
  const patch = (containers: readonly object[]): object => ({ spec: { containers } });
  const live = { spec: { containers: [{ name: "c", ports: [] }] } };
  const once = patch([{ name: "c", ports: Array.from({ length: 20_000 }, (_, index) => port(index)) }]);
  const merged = strategicMergePatch(live, once, podType) as { spec: typeof live.spec };
  assert.equal(merged.spec.containers[0]?.ports.length, 20_000);
  const again = patch(Array.from({ length: 2_000 }, (_, index) => ({ name: "c", ports: [port(index)] })));
  assert.throws(
    () => strategicMergePatch(live, again, podType),
    (error) => StatusError.is(error, "RequestEntityTooLarge"),
  );
});
