import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing/server.ts";

const namespace = "team";
const core = `/api/v1/namespaces/${namespace}`;

test("claims and ingresses get the newest default class, and claims a finalizer", async () => {
  const tested = await testServer();
  await tested.namespace(namespace);
  const classes = "/apis/storage.k8s.io/v1/storageclasses";
  const marked = { "storageclass.kubernetes.io/is-default-class": "true" };
  for (const [name, annotations] of [
    ["b", marked],
    ["a", marked],
    ["c", {}],
  ] as const) {
    await tested.call("POST", classes, { body: { metadata: { name, annotations }, provisioner: "p" } });
  }
  const claim = (name: string, spec: object = {}) =>
    tested.call("POST", `${core}/persistentvolumeclaims`, {
      body: {
        metadata: { name },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
      },
    });
  const made = await claim("v");
  assert.equal(made.body.spec.storageClassName, "a");
  assert.deepEqual(made.body.metadata.finalizers, ["kubernetes.io/pvc-protection"]);
  assert.equal((await claim("w", { storageClassName: "" })).body.spec.storageClassName, "");
  const bound = { body: { status: { phase: "Bound" } } };
  await tested.call("PATCH", `${core}/persistentvolumeclaims/v/status`, bound);
  const grown = await tested.call("PATCH", `${core}/persistentvolumeclaims/v`, {
    body: { spec: { resources: { requests: { storage: "2Gi" } } } },
  });
  assert.equal(grown.status, 403);
  assert.match(grown.body.message, /the storageclass that provisions the pvc must support resize$/);
  await tested.server.close();
});

test("a runtime class gives pods its overhead, node selector and tolerations", async () => {
  const tested = await testServer();
  await tested.namespace(namespace);
  await tested.call("POST", "/apis/node.k8s.io/v1/runtimeclasses", {
    body: {
      metadata: { name: "vm" },
      handler: "vm",
      overhead: { podFixed: { memory: "100Mi" } },
      scheduling: { nodeSelector: { vm: "yes" }, tolerations: [{ key: "vm", operator: "Exists" }] },
    },
  });
  const pod = (spec: object) =>
    tested.call("POST", `${core}/pods`, {
      body: { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }], ...spec } },
    });
  assert.match(
    (await pod({ runtimeClassName: "none" })).body.message,
    /^pods "p" is forbidden: pod rejected: RuntimeClass "none" not found$/,
  );
  assert.match(
    (await pod({ overhead: { memory: "1Mi" } })).body.message,
    /Pod Overhead set without corresponding RuntimeClass defined Overhead$/,
  );
  assert.match(
    (await pod({ runtimeClassName: "vm", nodeSelector: { vm: "no" } })).body.message,
    /conflict: runtimeClass.scheduling.nodeSelector\[vm\] = yes; pod.spec.nodeSelector\[vm\] = no$/,
  );
  const { spec } = (await pod({ runtimeClassName: "vm" })).body;
  assert.deepEqual(spec.overhead, { memory: "100Mi" });
  assert.deepEqual(spec.nodeSelector, { vm: "yes" });
  assert.ok(spec.tolerations.some((toleration: { key: string }) => toleration.key === "vm"));
  await tested.server.close();
});
