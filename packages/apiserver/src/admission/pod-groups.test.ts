import assert from "node:assert/strict";
import { test } from "node:test";
import { type TestServer, testServer } from "../test-server.ts";

const gates = new Map([["GenericWorkload", true]]);

async function onServer(
  version: string,
  api: string,
  run: (tested: TestServer, path: string) => Promise<void>,
): Promise<void> {
  const runtimeConfig = { [api]: true };
  const tested = await testServer({ kubernetesVersion: version, featureGates: gates, runtimeConfig });
  await tested.namespace("n");
  try {
    await run(tested, `/apis/${api}/namespaces/n`);
  } finally {
    await tested.server.close();
  }
}

const group = (more: object = {}, metadata: object = {}): object => ({
  metadata: { name: "g", ...metadata },
  spec: { schedulingPolicy: { basic: {} }, ...more },
});

test("a group of pods gets a finalizer, once", () =>
  onServer("1.37", "scheduling.k8s.io/v1beta1", async (tested, path) => {
    const finalizer = "scheduling.k8s.io/podgroup-protection";
    const made = await tested.call("POST", `${path}/podgroups`, { body: group() });
    assert.deepEqual(made.body.metadata.finalizers, [finalizer]);
    const sent = group({}, { name: "h", finalizers: [finalizer] });
    const other = await tested.call("POST", `${path}/podgroups`, { body: sent });
    assert.deepEqual(other.body.metadata.finalizers, [finalizer]);
  }));

test("in 1.36 the template that a group was made from has to be there", () =>
  onServer("1.36", "scheduling.k8s.io/v1alpha2", async (tested, path) => {
    const from = (podGroupTemplateName: string): object =>
      group({ podGroupTemplateRef: { workload: { workloadName: "w", podGroupTemplateName } } });
    const create = async (body: object): Promise<string> =>
      (await tested.call("POST", `${path}/podgroups`, { body })).body.message;
    const refused = 'podgroups.scheduling.k8s.io "g" is forbidden: PodGroup rejected: ';
    assert.equal(await create(from("t")), `${refused}Workload "w" not found`);
    const workload = {
      metadata: { name: "w" },
      spec: { podGroupTemplates: [{ name: "t", schedulingPolicy: { basic: {} } }] },
    };
    assert.equal((await tested.call("POST", `${path}/workloads`, { body: workload })).status, 201);
    assert.equal(await create(from("u")), `${refused}PodGroupTemplate "u" not found in Workload "w"`);
    assert.equal(await create(from("t")), undefined);
  }));
