import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeJSON } from "@dray/api";
import { type KindRow, kindRows } from "@dray/api/schema";
import { type Log, systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { oddObject } from "@dray/testing/odd-objects";
import { Random, seedOr } from "@dray/testing/random";
import { testServer } from "../testing/server.ts";
import { objectKey } from "./keys.ts";

const rounds = 2;
const names = ["odd-0", "odd-1", "default", "n1", "system:masters", "v1"];
const namespace = "default";

/** Other servers would be asked. */
const excluded: ReadonlySet<string> = new Set([
  "APIService",
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
]);

/** Kinds that are stored, in the version in which they are. */
const rows: readonly KindRow[] = kindRows.filter(
  (row) => row.version === "v1" && row.group !== "metrics.k8s.io" && !excluded.has(row.kind),
);

const pathOf = (row: KindRow, name = ""): string => {
  const base = row.group === "" ? "/api/v1" : `/apis/${row.group}/v1`;
  const space = row.namespaced ? `/namespaces/${namespace}` : "";
  return `${base}${space}/${row.resource}${name === "" ? "" : `/${name}`}`;
};

/** An object that another server, or an older version, may have written. */
function stored(row: KindRow, name: string, random: Random): object {
  const { status, ...tree } = oddObject(row, random, { names });
  const own = {
    name,
    ...(row.namespaced ? { namespace } : {}),
    uid: `${row.kind}-${name}`,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: null,
  };
  return {
    ...tree,
    ...(typeof status === "object" ? { status } : {}),
    metadata: { ...((tree["metadata"] ?? {}) as object), ...own },
  };
}

/** A log that keeps the exceptions of readers. */
function exceptionLog(): { readonly log: Log; readonly exceptions: string[] } {
  const exceptions: string[] = [];
  const look = (fields: object): void => {
    for (const value of Object.values(fields))
      if (value instanceof TypeError || value instanceof RangeError) exceptions.push(value.stack ?? "");
  };
  return { log: { debug: look, info: look, warn: look, error: look }, exceptions };
}

/** Objects whose admission reads those of other kinds. */
const drafts: readonly (readonly [resource: string, object: object])[] = [
  ["/api/v1/namespaces/default/pods", { spec: { containers: [{ name: "c", image: "i" }] } }],
  [
    "/api/v1/namespaces/default/pods",
    {
      spec: {
        containers: [{ name: "c", image: "i" }],
        priorityClassName: "odd-0",
        runtimeClassName: "odd-0",
        serviceAccountName: "odd-1",
        resourceClaims: [{ name: "r", resourceClaimName: "odd-0" }],
        volumes: [{ name: "v", persistentVolumeClaim: { claimName: "odd-0" } }],
      },
    },
  ],
  ["/api/v1/namespaces/default/services", { spec: { ports: [{ port: 80 }] } }],
  [
    "/api/v1/namespaces/default/persistentvolumeclaims",
    { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1" } } } },
  ],
  [
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
    { spec: { defaultBackend: { service: { name: "a", port: { number: 1 } } } } },
  ],
  [
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
    { spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "odd-0" } }] } } },
  ],
  ["/api/v1/namespaces", {}],
  ["/api/v1/nodes", {}],
  ["/api/v1/namespaces/default/pods/odd-0/eviction", { apiVersion: "policy/v1", kind: "Eviction" }],
  ["/api/v1/namespaces/default/serviceaccounts/odd-0/token", { spec: {} }],
  ["/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", { spec: { namespace } }],
];

test("stored nulls are absent to the server itself", async () => {
  const seed = seedOr(20_261_129);
  for (let round = 0; round < rounds; round++) {
    const random = new Random(seed + round);
    const { log, exceptions } = exceptionLog();
    const store = memoryStore(systemClock);
    // The first start makes the objects of a new cluster.
    await (await testServer({ store })).server.close();
    for (const row of rows) {
      for (const name of ["odd-0", "odd-1"]) {
        const key = objectKey(row.resource, row.namespaced ? namespace : undefined, name);
        const value = encodeJSON(stored(row, name, random));
        await store.txn([{ key, modRevision: 0 }], [{ type: "put", key, value }]);
      }
    }
    const { call, server } = await testServer({ store, log, priorityAndFairness: false });
    const send: typeof call = async (method, url, options) => {
      const answer = await call(method, url, options);
      assert.deepEqual(exceptions, [], `DRAY_SEED=${seed}: ${method} ${url}: ${answer.status}`);
      return answer;
    };
    assert.deepEqual(exceptions, [], `DRAY_SEED=${seed}: start`);
    for (const [index, [path, draft]] of drafts.entries()) {
      const body = { ...draft, metadata: { name: path.includes("/odd-0/") ? "odd-0" : `d${index}` } };
      await send("POST", path, { body });
      await send("POST", path, { body, user: "odd-0", groups: ["odd-1"] });
    }
    for (const row of rows) {
      for (const accept of [
        "application/json",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/vnd.kubernetes.protobuf",
      ])
        await send("GET", pathOf(row), { headers: { accept } });
      for (const name of ["odd-0", "odd-1"]) {
        const read = await send("GET", pathOf(row, name));
        if (read.status !== 200) continue;
        await send("PUT", pathOf(row, name), { body: read.body });
        await send("PATCH", pathOf(row, name), { body: { metadata: { labels: { a: "b" } } } });
        await send("PATCH", pathOf(row, name), {
          body: { apiVersion: read.body.apiVersion, kind: row.kind, metadata: { annotations: { a: "c" } } },
          headers: { "content-type": "application/apply-patch+yaml" },
        });
        await send("DELETE", pathOf(row, name));
      }
    }
    await server.close();
    await store.close();
  }
});
