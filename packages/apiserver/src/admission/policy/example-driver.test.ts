import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseAllDocuments } from "yaml";
import { type Answer, testServer } from "../../testing/server.ts";

const path = "/apis/admissionregistration.k8s.io/v1";

test("the example driver's policy keeps each node plugin to the slices of its node (KEP-4381)", async () => {
  const nodeName = "authentication.kubernetes.io/node-name";
  const file = join(
    import.meta.dirname,
    "../../../../../examples/dra/driver-install/validatingadmissionpolicy.yaml",
  );
  const tested = await testServer({ runtimeConfig: { "resource.k8s.io/v1beta1": true } });
  const [policy, binding] = parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS());
  for (const [resource, body] of [
    ["validatingadmissionpolicies", policy],
    ["validatingadmissionpolicybindings", binding],
  ]) {
    const created = await tested.call("POST", `${path}/${resource}`, { body });
    assert.equal(created.status, 201, created.body.message);
  }
  const impersonate = (user: string, node?: string): { headers: Record<string, string> } => ({
    headers: {
      "impersonate-user": user,
      "impersonate-group": "system:masters",
      ...(node && { [`impersonate-extra-${encodeURIComponent(nodeName).toLowerCase()}`]: node }),
    },
  });
  const driver = "system:serviceaccount:dra-tutorial:dra-example-driver-service-account";
  const slices = "/apis/resource.k8s.io/v1/resourceslices";
  const slice = (where: { nodeName: string } | { allNodes: true }): object => ({
    metadata: { name: "nodeName" in where ? `s-${where.nodeName}` : "s" },
    spec: {
      ...where,
      driver: "gpu.example.com",
      pool: { name: "p", generation: 1, resourceSliceCount: 1 },
      devices: [{ name: "a" }],
    },
  });
  const [one, two] = [slice({ nodeName: "one" }), slice({ nodeName: "two" })];
  const post = (body: object, as: object): Promise<Answer> => tested.call("POST", slices, { body, ...as });
  const denied = (answer: Answer, name: string, why: string): void => {
    assert.equal(answer.status, 422);
    assert.equal(
      answer.body.message,
      `resourceslices.resource.k8s.io "${name}" is forbidden: ValidatingAdmissionPolicy 'resourceslices-policy-dra-example-driver' with binding 'resourceslices-policy-dra-example-driver' denied request: ${why}`,
    );
  };
  const onOne = impersonate(driver, "one");
  const foreign = "this user running on node 'one' may not modify resourceslices on node 'two'";
  assert.equal((await post(one, onOne)).status, 201);
  denied(await post(two, onOne), "s-two", foreign);
  denied(
    await post(slice({ allNodes: true }), onOne),
    "s",
    "this user running on node 'one' may not modify cluster resourceslices",
  );
  denied(
    await post(two, impersonate(driver)),
    "s-two",
    "the token of this user names no node: the driver must run in a pod and use the token of that pod",
  );
  // Other users are not its business.
  assert.equal((await post(two, impersonate("someone", "one"))).status, 201);
  const labels = { body: { metadata: { labels: { a: "1" } } }, ...onOne };
  denied(await tested.call("PATCH", `${slices}/s-two`, labels), "s-two", foreign);
  assert.equal((await tested.call("PATCH", `${slices}/s-one`, labels)).status, 200);
  denied(await tested.call("DELETE", `${slices}/s-two`, onOne), "s-two", foreign);
  assert.equal((await tested.call("DELETE", `${slices}/s-one`, onOne)).status, 200);
  // The older versions of the API lead to the same slices.
  const { spec, ...rest } = two as { spec: Record<string, unknown> };
  const older = { ...rest, spec: { ...spec, devices: [{ name: "a", basic: {} }] } };
  denied(
    await tested.call("POST", slices.replace("/v1/", "/v1beta1/"), { body: older, ...onOne }),
    "s-two",
    foreign,
  );
  await tested.server.close();
});
