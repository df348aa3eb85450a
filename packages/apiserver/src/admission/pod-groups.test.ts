import assert from "node:assert/strict";
import { test } from "node:test";
import { type TestServer, testServer } from "../testing/server.ts";

async function onServer(
  version: string,
  api: string,
  run: (tested: TestServer, path: string) => Promise<void>,
  ...more: readonly string[]
): Promise<void> {
  const runtimeConfig = { [api]: true };
  const featureGates = new Map(["GenericWorkload", ...more].map((gate) => [gate, true]));
  const tested = await testServer({ kubernetesVersion: version, featureGates, runtimeConfig });
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

/** Class `high`, of 100, whose pods do not preempt. */
const highClass = {
  metadata: { name: "high" },
  value: 100,
  preemptionPolicy: "Never",
};
const classes = "/apis/scheduling.k8s.io/v1/priorityclasses";

// Upstream: plugin/pkg/admission/priority/admission.go, admitPodGroup.
test("a group gets the priority of its class, and no other", () =>
  onServer("1.37", "scheduling.k8s.io/v1beta1", async (tested, path) => {
    await tested.call("POST", classes, { body: highClass });
    const create = async (spec: object): Promise<{ spec: object; message: string }> =>
      (
        await tested.call("POST", `${path}/podgroups`, {
          body: group(spec, { generateName: "g-", name: "" }),
        })
      ).body;
    const priorityOf = async (spec: object): Promise<unknown> => {
      const { priorityClassName, priority, preemptionPolicy } = (await create(spec)).spec as Record<
        string,
        unknown
      >;
      return [priorityClassName, priority, preemptionPolicy];
    };
    // Without the gate PodGroupPreemptionPolicy a group has none.
    assert.deepEqual(await priorityOf({ priorityClassName: "high" }), ["high", 100, undefined]);
    assert.deepEqual(await priorityOf({}), [undefined, 0, undefined]);
    assert.match(
      (await create({ priorityClassName: "x" })).message,
      /: no PriorityClass with name x was found$/,
    );
    assert.match(
      (await create({ priority: 7 })).message,
      /: priority set in the pod group \(7\) must match the priority computed \(0\) based on the priority class set in the spec$/,
    );
  }));

test("with the gate a group has the preemption policy of its class", () =>
  onServer(
    "1.37",
    "scheduling.k8s.io/v1beta1",
    async (tested, path) => {
      await tested.call("POST", classes, { body: highClass });
      const body = group({ priorityClassName: "high", preemptionPolicy: "PreemptLowerPriority" });
      assert.match(
        (await tested.call("POST", `${path}/podgroups`, { body })).body.message,
        /: the string value of PreemptionPolicy \(PreemptLowerPriority\) must not be provided in pod group spec; priority admission controller computed Never from the given PriorityClass name$/,
      );
    },
    "PodGroupPreemptionPolicy",
  ));

test("a group of groups gets the priority of its class", () =>
  onServer(
    "1.37",
    "scheduling.k8s.io/v1alpha3",
    async (tested, path) => {
      await tested.call("POST", classes, { body: highClass });
      const workloadRef = { workloadName: "w", templateName: "t" };
      const body = group({ priorityClassName: "high", workloadRef });
      const made = await tested.call("POST", `${path}/compositepodgroups`, { body });
      assert.equal(made.body.spec.priority, 100);
    },
    "TopologyAwareWorkloadScheduling",
    "CompositePodGroup",
  ));

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
