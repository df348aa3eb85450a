/** Upstream: pkg/registry/flowcontrol/ensurer */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { type TestServer, testServer } from "../testing/server.ts";
import { flowcontrol, flowSchema, priorityLevel } from "./testing.ts";

const annotation = "apf.kubernetes.io/autoupdate-spec";
const minute = 60_000;

/** Runs the event loop until all pending work is done. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
}

const names = async ({ call }: TestServer, resource: string): Promise<string[]> =>
  (await call("GET", `${flowcontrol}/${resource}`)).body.items
    .map(({ metadata }: { metadata: { name: string } }) => metadata.name)
    .sort();

test("a server has the mandatory and the suggested objects", async () => {
  const tested = await testServer();
  assert.deepEqual(await names(tested, "prioritylevelconfigurations"), [
    "catch-all",
    "exempt",
    "global-default",
    "leader-election",
    "node-high",
    "system",
    "workload-high",
    "workload-low",
  ]);
  assert.deepEqual(await names(tested, "flowschemas"), [
    "catch-all",
    "exempt",
    "global-default",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-system-service-accounts",
    "probes",
    "service-accounts",
    "system-leader-election",
    "system-node-high",
    "system-nodes",
  ]);
  const { body } = await tested.call("GET", `${flowcontrol}/flowschemas/probes`);
  assert.equal(body.metadata.annotations[annotation], "true");
  assert.equal(body.metadata.managedFields[0].manager, "api-priority-and-fairness-config-producer-v1");
  assert.equal(body.spec.matchingPrecedence, 2);
  await tested.server.close();
});

test("deleted objects are restored, and obsolete ones are removed", async () => {
  const clock = fakeClock();
  const tested = await testServer({ clock });
  const url = `${flowcontrol}/prioritylevelconfigurations`;
  const gone = ["flowschemas/exempt", "flowschemas/probes", "prioritylevelconfigurations/catch-all"];
  for (const path of gone) {
    assert.equal((await tested.call("DELETE", `${flowcontrol}/${path}`)).status, 200);
    assert.equal((await tested.call("GET", `${flowcontrol}/${path}`)).status, 404);
  }
  const level = priorityLevel("old", 1) as { metadata: object };
  const old = { ...level, metadata: { ...level.metadata, annotations: { [annotation]: "true" } } };
  assert.equal((await tested.call("POST", url, { body: old })).status, 201);
  assert.equal((await tested.call("POST", url, { body: priorityLevel("own", 1) })).status, 201);
  clock.advance(minute);
  await settle();
  for (const path of gone) assert.equal((await tested.call("GET", `${flowcontrol}/${path}`)).status, 200);
  assert.equal((await tested.call("GET", `${url}/old`)).status, 404, "it belongs to another release");
  assert.equal((await tested.call("GET", `${url}/own`)).status, 200);
  await tested.server.close();
});

test("suggested objects are restored as long as their annotation allows it", async () => {
  const clock = fakeClock();
  const tested = await testServer({ clock });
  const url = `${flowcontrol}/prioritylevelconfigurations/workload-low`;
  const change = async (value: string | null, shares: number): Promise<void> => {
    const body = {
      metadata: { annotations: { [annotation]: value } },
      spec: { limited: { nominalConcurrencyShares: shares } },
    };
    assert.equal((await tested.call("PATCH", url, { body })).status, 200);
    clock.advance(minute);
    await settle();
  };
  const state = async (): Promise<unknown[]> => {
    const { metadata, spec } = (await tested.call("GET", url)).body;
    return [metadata.annotations?.[annotation], spec.limited.nominalConcurrencyShares];
  };
  await change("true", 7);
  assert.deepEqual(await state(), ["true", 100]);
  await change("false", 8);
  assert.deepEqual(await state(), ["false", 8]);
  // Without the annotation, a changed object belongs to its user.
  await change(null, 9);
  assert.deepEqual(await state(), ["false", 9]);
  await tested.server.close();
});

test("only the seats of the mandatory level exempt can be changed", async () => {
  const clock = fakeClock();
  const tested = await testServer({ clock });
  const url = `${flowcontrol}/prioritylevelconfigurations`;
  const shares = (nominalConcurrencyShares: number): object => ({ nominalConcurrencyShares });
  const fixed = await tested.call("PATCH", `${url}/catch-all`, { body: { spec: { limited: shares(9) } } });
  assert.equal(fixed.status, 422);
  assert.match(fixed.body.message, /: spec of 'catch-all' must equal the fixed value$/);
  const body = { metadata: { annotations: { [annotation]: "false" } }, spec: { exempt: shares(9) } };
  assert.equal((await tested.call("PATCH", `${url}/exempt`, { body })).status, 200);
  clock.advance(minute);
  await settle();
  const exempt = (await tested.call("GET", `${url}/exempt`)).body;
  assert.equal(exempt.spec.exempt.nominalConcurrencyShares, 9);
  assert.equal(exempt.metadata.annotations[annotation], "true");
  await tested.server.close();
});

test("the condition Dangling of a FlowSchema is written when its priority level appears or disappears", async () => {
  const tested = await testServer();
  const url = `${flowcontrol}/flowschemas`;
  const dangling = async (name: string): Promise<{ condition: Record<string, string>; version: string }> => {
    await settle();
    const { metadata, status } = (await tested.call("GET", `${url}/${name}`)).body;
    return { condition: status.conditions[0], version: metadata.resourceVersion };
  };
  await tested.call("POST", url, { body: flowSchema("own", "mine", ["me"]) });
  const missing = await dangling("own");
  const { lastTransitionTime: _, ...condition } = missing.condition;
  assert.deepEqual(condition, {
    type: "Dangling",
    status: "True",
    reason: "NotFound",
    message:
      'This FlowSchema references the PriorityLevelConfiguration object named "mine" but there is no such object',
  });
  await tested.call("POST", `${flowcontrol}/prioritylevelconfigurations`, { body: priorityLevel("mine", 1) });
  const found = await dangling("own");
  assert.equal(found.condition["status"], "False");
  assert.equal(found.condition["reason"], "Found");
  assert.match(found.condition["message"]!, /named "mine" and it exists$/);
  await tested.call("POST", `${flowcontrol}/prioritylevelconfigurations`, {
    body: priorityLevel("other", 1),
  });
  assert.equal((await dangling("own")).version, found.version);
  const probes = (await tested.call("GET", `${url}/probes`)).body;
  assert.equal(probes.status.conditions[0].status, "False");
  const manager = probes.metadata.managedFields.find(
    ({ operation }: { operation: string }) => operation === "Apply",
  );
  assert.equal(manager.manager, "api-priority-and-fairness-config-consumer-v1");
  assert.equal(manager.subresource, "status");
  await tested.server.close();
});

test("tables list FlowSchemas in the order of matching", async () => {
  const tested = await testServer();
  await settle();
  const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
  const { rows } = (await tested.call("GET", `${flowcontrol}/flowschemas`, { headers })).body;
  const cells = rows.map((row: { cells: string[] }) => row.cells);
  assert.deepEqual(
    cells.map(([name]: string[]) => name),
    [
      "exempt",
      "probes",
      "system-leader-election",
      "system-node-high",
      "system-nodes",
      "kube-controller-manager",
      "kube-scheduler",
      "kube-system-service-accounts",
      "service-accounts",
      "global-default",
      "catch-all",
    ],
  );
  assert.deepEqual([cells[0].slice(0, 4), cells[0][5]], [["exempt", "exempt", 1, "<none>"], "False"]);
  await tested.server.close();
});
