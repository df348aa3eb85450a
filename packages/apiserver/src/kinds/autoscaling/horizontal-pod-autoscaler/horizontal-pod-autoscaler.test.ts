import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../../../testing/server.ts";
import cases from "./testdata/horizontalpodautoscalers.json" with { type: "json" };

const url = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";

test("a HorizontalPodAutoscaler is refused in the words of kube-apiserver 1.36", async () => {
  const { server, call } = await testServer({ kubernetesVersion: "1.36" });
  for (const [index, { spec, message }] of cases.entries()) {
    const { body } = await call("POST", url, { body: { metadata: { name: `a${index}` }, spec } });
    const wanted = `HorizontalPodAutoscaler.autoscaling "a${index}" is invalid: ${message}`;
    assert.equal(body.message, message === null ? undefined : wanted, JSON.stringify(spec));
  }
  await server.close();
});

test("since 1.37 a HorizontalPodAutoscaler may go to zero, by a metric that does not depend on pods", async () => {
  const { server, call } = await testServer();
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "d" };
  const create = async (metrics: readonly object[]): Promise<string | undefined> => {
    const spec = { scaleTargetRef, minReplicas: 0, maxReplicas: 3, metrics };
    return (await call("POST", url, { body: { metadata: { generateName: "a" }, spec } })).body.message;
  };
  const target = { type: "AverageValue", averageValue: "10" };
  assert.match(
    (await create([{ type: "Resource", resource: { name: "cpu", target } }])) ?? "",
    /spec\.metrics: Forbidden: must specify at least one Object or External metric/,
  );
  const external = { metric: { name: "queue" }, target };
  assert.equal(await create([{ type: "External", external }]), undefined);
  await server.close();
});

test("an update is held to the same rules, but for a target that stays; a status counts from zero", async () => {
  const { server, call } = await testServer();
  const spec = { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, maxReplicas: 3 };
  await call("POST", url, { body: { metadata: { name: "a" }, spec } });
  const patched = async (path: string, body: object): Promise<string> =>
    (await call("PATCH", path, { body })).body.message ?? "";
  assert.match(
    await patched(`${url}/a`, { spec: { minReplicas: 9 } }),
    /: spec\.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`$/,
  );
  assert.match(
    await patched(`${url}/a`, { spec: { scaleTargetRef: { apiVersion: null } } }),
    /: spec\.scaleTargetRef\.apiVersion: Invalid value: "": apiVersion must specify API group$/,
  );
  assert.match(
    await patched(`${url}/a/status`, { status: { desiredReplicas: -1 } }),
    /: status\.desiredReplicas: Invalid value: -1: must be greater than or equal to 0$/,
  );
  assert.equal(await patched(`${url}/a/status`, { status: { desiredReplicas: 2 } }), "");
  await server.close();
});
