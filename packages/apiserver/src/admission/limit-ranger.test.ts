import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing/server.ts";

const path = (resource: string): string => `/api/v1/namespaces/team/${resource}`;

test("containers get the defaults of their namespace; pods and volume claims are held to its bounds", async () => {
  const tested = await testServer();
  await tested.namespace("team");
  const limits = [
    {
      type: "Container",
      default: { cpu: "500m" },
      defaultRequest: { cpu: "100m" },
      maxLimitRequestRatio: { cpu: "8" },
    },
    { type: "Pod", max: { cpu: "1" } },
    { type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "2Gi" } },
  ];
  const range = { body: { metadata: { name: "l" }, spec: { limits } } };
  assert.equal((await tested.call("POST", path("limitranges"), range)).status, 201);
  const container = (name: string, resources: object = {}): object => ({ name, image: "i", resources });
  const pod = (name: string, containers: object[], initContainers: object[] = []) =>
    tested.call("POST", path("pods"), {
      body: { metadata: { name }, spec: { containers, initContainers } },
    });

  const made = await pod("a", [container("c")], [container("i", { limits: { cpu: "200m" } })]);
  assert.equal(made.status, 201, made.body.message);
  assert.deepEqual(made.body.spec.containers[0].resources, {
    limits: { cpu: "500m" },
    requests: { cpu: "100m" },
  });
  assert.equal(
    made.body.metadata.annotations["kubernetes.io/limit-ranger"],
    "LimitRanger plugin set: cpu request for container c; cpu limit for container c",
  );
  const three = await pod("b", [container("c"), container("d"), container("e")]);
  assert.equal(
    three.body.message,
    'pods "b" is forbidden: maximum cpu usage per Pod is 1, but limit is 1500m',
  );
  const ratio = await pod("d", [container("c", { requests: { cpu: "50m" } })]);
  assert.equal(
    ratio.body.message,
    'pods "d" is forbidden: cpu max limit to request ratio per Container is 8, but provided ratio is 10.000000',
  );

  const claim = (storage: string) =>
    tested.call("POST", path("persistentvolumeclaims"), {
      body: {
        metadata: { name: "v" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
      },
    });
  assert.match(
    (await claim("512Mi")).body.message,
    /minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 512Mi$/,
  );
  assert.match(
    (await claim("3Gi")).body.message,
    /maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi$/,
  );
  assert.equal((await claim("2Gi")).status, 201);
  await tested.server.close();
});

test("a limit range without limits limits nothing", async () => {
  const tested = await testServer();
  await tested.namespace("team");
  const range = { body: { metadata: { name: "l" }, spec: {} } };
  assert.equal((await tested.call("POST", path("limitranges"), range)).status, 201);
  const spec = { containers: [{ name: "c", image: "i" }] };
  const made = await tested.call("POST", path("pods"), { body: { metadata: { name: "p" }, spec } });
  assert.equal(made.status, 201, made.body.message);
  await tested.server.close();
});

test("from 1.37 on pod-level requests include the defaults of LimitRanger", async () => {
  for (const [version, cpu] of [
    ["1.36", "2"],
    ["1.37", "100m"],
  ] as const) {
    const tested = await testServer({ kubernetesVersion: version });
    await tested.namespace("team");
    const limits = [{ type: "Container", defaultRequest: { cpu: "100m" } }];
    await tested.call("POST", path("limitranges"), { body: { metadata: { name: "l" }, spec: { limits } } });
    const spec = { containers: [{ name: "c", image: "i" }], resources: { limits: { cpu: "2" } } };
    const made = await tested.call("POST", path("pods"), { body: { metadata: { name: "p" }, spec } });
    assert.equal(made.status, 201, made.body.message);
    assert.deepEqual(made.body.spec.resources, { limits: { cpu: "2" }, requests: { cpu } }, version);
  }
});
