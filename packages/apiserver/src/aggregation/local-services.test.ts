import assert from "node:assert/strict";
import test from "node:test";
import { systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { eventually } from "@dray/testing/eventually";
import { type TestServer, testServer } from "../testing/server.ts";

const path = "/apis/apiregistration.k8s.io/v1/apiservices";
const label = "kube-aggregator.kubernetes.io/automanaged";

const definition = (versions: string[], group = "stable.example.com"): object => ({
  metadata: { name: `tabs.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "tabs", kind: "Tab" },
    versions: versions.map((name, index) => ({
      name,
      served: true,
      storage: index === 0,
      schema: { openAPIV3Schema: { type: "object" } },
    })),
  },
});

const exists = async ({ call }: TestServer, name: string): Promise<boolean> =>
  (await call("GET", `${path}/${name}`)).status === 200;

test("each built-in version has an APIService as soon as the server accepts requests", async () => {
  const { server, call } = await testServer({ runtimeConfig: { "metrics.k8s.io/v1beta1": true } });
  const { body } = await call("GET", `${path}/v2.autoscaling`);
  assert.deepEqual(body.metadata.labels, { [label]: "onstart" });
  assert.deepEqual(body.spec, {
    group: "autoscaling",
    version: "v2",
    groupPriorityMinimum: 17500,
    versionPriority: 30,
  });
  const [condition] = body.status.conditions;
  assert.equal(condition.reason, "Local");
  assert.equal(condition.status, "True");
  const core = (await call("GET", `${path}/v1.`)).body;
  assert.equal(core.spec.groupPriorityMinimum, 18000);
  const { items } = (await call("GET", path)).body;
  const names: string[] = items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  assert.ok(names.includes("v1.apps") && names.includes("v1.resource.k8s.io"));
  assert.ok(!names.some((name) => /apiregistration|metrics/.test(name)));
  const table = await call("GET", `${path}/v1.apps`, {
    headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
  });
  assert.deepEqual(table.body.rows[0].cells.slice(0, 3), ["v1.apps", "Local", "True"]);
  await server.close();
});

test("versions of custom resources have APIServices while they are served", async () => {
  const tested = await testServer();
  const { server, call } = tested;
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await call("POST", definitions, { body: definition(["v1", "v1beta1"]) });
  await eventually("the APIService of a version", () => exists(tested, "v1beta1.stable.example.com"));
  const name = "v1.stable.example.com";
  const { body } = await call("GET", `${path}/${name}`);
  assert.deepEqual(body.metadata.labels, { [label]: "true" });
  assert.deepEqual(body.spec, {
    group: "stable.example.com",
    version: "v1",
    groupPriorityMinimum: 1000,
    versionPriority: 100,
  });
  await call("PATCH", `${path}/${name}`, { body: { spec: { versionPriority: 7 } } });
  await eventually(
    "its priority is restored",
    async () => (await call("GET", `${path}/${name}`)).body.spec.versionPriority === 100,
  );
  await call("DELETE", `${path}/${name}`);
  await eventually("it is there again", () => exists(tested, name));
  await call("DELETE", `${definitions}/tabs.stable.example.com`);
  await eventually("it goes with the definition", async () => !(await exists(tested, name)));
  assert.ok(!(await exists(tested, "v1beta1.stable.example.com")));
  await server.close();
});

test("objects without the label stay, and obsolete ones with it are deleted", async () => {
  const store = memoryStore(systemClock);
  const first = await testServer({ store });
  const local = (name: string, labels: object): object => {
    const [version, ...group] = name.split(".");
    const spec = { group: group.join("."), version, groupPriorityMinimum: 100, versionPriority: 10 };
    return { metadata: { name, labels }, spec };
  };
  await first.call("POST", path, { body: local("v1.own.example.com", {}) });
  await first.call("POST", path, { body: local("v9.old.example.com", { [label]: "onstart" }) });
  await first.call("POST", path, { body: local("v9.gone.example.com", { [label]: "true" }) });
  await eventually("what is left over goes", async () => !(await exists(first, "v9.gone.example.com")));
  assert.ok(await exists(first, "v9.old.example.com"));
  // The APIService of a built-in version is not restored before the next start.
  await first.call("PATCH", `${path}/v1.apps`, { body: { spec: { versionPriority: 7 } } });
  await first.call("DELETE", `${path}/v1.batch`);
  await first.server.close();
  const second = await testServer({ store });
  await eventually("what is old goes", async () => !(await exists(second, "v9.old.example.com")));
  await eventually(
    "the priority is restored",
    async () => (await second.call("GET", `${path}/v1.apps`)).body.spec.versionPriority === 15,
  );
  assert.ok(await exists(second, "v1.batch"));
  assert.ok(await exists(second, "v1.own.example.com"));
  await second.server.close();
});

test("a local APIService is always available", async () => {
  const { server, call } = await testServer();
  const conditions = [{ type: "Available", status: "False", reason: "x", message: "y" }];
  await call("PATCH", `${path}/v1.apps/status`, { body: { status: { conditions } } });
  await eventually("it is available", async () => {
    const [condition] = (await call("GET", `${path}/v1.apps`)).body.status.conditions;
    return condition.status === "True" && condition.reason === "Local";
  });
  await server.close();
});
