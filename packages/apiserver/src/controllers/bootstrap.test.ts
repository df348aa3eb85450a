import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { testServer } from "../testing/server.ts";

const path = "/apis/rbac.authorization.k8s.io/v1";

test("a server restores missing rules and subjects of its roles and bindings, unless their annotation forbids it", async () => {
  const store = memoryStore(systemClock);
  const first = await testServer({ store });
  const role = (name: string): string => `${path}/clusterroles/${name}`;
  const own = { verbs: ["get"], apiGroups: ["example.com"], resources: ["widgets"] };
  const before = (await first.call("GET", role("system:basic-user"))).body.rules;
  await first.call("PATCH", role("system:basic-user"), { body: { rules: [own] } });
  await first.call("PATCH", role("system:discovery"), {
    body: {
      metadata: { annotations: { "rbac.authorization.kubernetes.io/autoupdate": "false" } },
      rules: [own],
    },
  });
  const binding = `${path}/clusterrolebindings/system:discovery`;
  await first.call("PATCH", binding, { body: { subjects: [] } });
  await first.server.close();

  const second = await testServer({ store });
  const { rules } = (await second.call("GET", role("system:basic-user"))).body;
  assert.deepEqual(rules[0], own);
  const resources = (list: { resources: string[] }[]): string[] => list.flatMap((rule) => rule.resources);
  assert.deepEqual(resources(rules.slice(1)).sort(), resources(before).sort());
  assert.deepEqual((await second.call("GET", role("system:discovery"))).body.rules, [own]);
  assert.equal((await second.call("GET", binding)).body.subjects.length, 1);
  const controller = (
    await second.call("GET", `${path}/clusterrolebindings/system:controller:job-controller`)
  ).body;
  assert.deepEqual(controller.subjects, [
    { kind: "ServiceAccount", name: "job-controller", namespace: "kube-system" },
  ]);
  await second.server.close();
});

test("a feature gate adds the rules and controller roles that it requires", async () => {
  const rightsOf = async (gates: Readonly<Record<string, boolean>>, kubernetesVersion: string) => {
    const featureGates = new Map(Object.entries(gates));
    const { call, server } = await testServer({ featureGates, kubernetesVersion });
    const has = async (role: string, resource: string): Promise<boolean | undefined> => {
      const { status, body } = await call("GET", `${path}/clusterroles/system:${role}`);
      if (status !== 200) return undefined;
      return body.rules.some(({ resources }: { resources: string[] }) => resources.includes(resource));
    };
    const rights = [
      await has("controller:device-taint-eviction-controller", "devicetaintrules/status"),
      await has("kube-scheduler", "podgroups"),
      await has("aggregate-to-edit", "workloads"),
      await has("controller:podgroup-protection-controller", "podgroups"),
      await has("controller:resourcepoolstatusrequest-controller", "resourcepoolstatusrequests"),
      await has("node", "clustertrustbundles"),
      await has("cluster-trust-bundle-discovery", "clustertrustbundles"),
      await has("controller:podcertificaterequestcleaner", "podcertificaterequests"),
      await has("controller:kube-apiserver-serving-clustertrustbundle-publisher", "signers"),
      await has("controller:storage-version-migrator-controller", "storageversionmigrations/status"),
    ];
    const bound = await call(
      "GET",
      `${path}/clusterrolebindings/system:controller:podgroup-protection-controller`,
    );
    await server.close();
    return [...rights, bound.status];
  };
  const certificates = [true, true, true, true, true];
  assert.deepEqual(await rightsOf({}, "1.36"), [
    ...[false, false, false, undefined, undefined],
    ...[false, undefined, undefined, undefined, undefined],
    404,
  ]);
  assert.deepEqual(await rightsOf({}, "1.37"), [
    true,
    false,
    false,
    undefined,
    undefined,
    ...certificates,
    404,
  ]);
  const gates = { GenericWorkload: true, DRAResourcePoolStatus: true };
  assert.deepEqual(await rightsOf(gates, "1.37"), [true, true, true, true, true, ...certificates, 200]);
});

test("the ServiceCIDR kubernetes exists and is ready, and its other fields stay", async () => {
  const store = memoryStore(systemClock);
  const address = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes";
  const first = await testServer({ store });
  const range = (await first.call("GET", address)).body;
  assert.deepEqual(range.spec, { cidrs: ["10.0.0.0/24"] });
  const [{ type, status, message }] = range.status.conditions;
  assert.deepEqual([type, status, message], ["Ready", "True", "Kubernetes default Service CIDR is ready"]);
  await first.call("PATCH", `${address}/status`, {
    body: { status: { conditions: [{ ...range.status.conditions[0], status: "False", reason: "No" }] } },
  });
  await first.server.close();

  const second = await testServer({ store });
  assert.equal((await second.call("GET", address)).body.status.conditions[0].reason, "No");
  await second.server.close();
});
