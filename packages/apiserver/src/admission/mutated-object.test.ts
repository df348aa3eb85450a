import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Hooks, patch, type Reply } from "./webhook/testing.ts";

const hooks = new Hooks();
before(() => hooks.start());
after(() => hooks.stop());

const device = { name: "d" };
const slice = {
  driver: "d.example.com",
  nodeName: "n",
  pool: { name: "n", generation: 1, resourceSliceCount: 1 },
};
const both = /spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed/;

/** Returns a webhook for new objects of these resources. */
const hookOf = (apiGroup: string, resource: string, reply: Reply): object =>
  hooks.hook("mutate", reply, {
    rules: [{ apiGroups: [apiGroup], apiVersions: ["v1"], operations: ["CREATE"], resources: [resource] }],
    matchPolicy: "Exact",
  });

/** Creates a slice while a webhook returns a patch; returns the error's text. */
async function createdSlice(spec: object, operations: readonly object[]): Promise<string | undefined> {
  const reply = () => patch(operations);
  const tested = await hooks.serverWith({ mutating: [hookOf("resource.k8s.io", "resourceslices", reply)] });
  const body = { metadata: { name: "s" }, spec: { ...slice, ...spec } };
  const created = await tested.call("POST", "/apis/resource.k8s.io/v1/resourceslices", { body });
  await tested.server.close();
  return created.body.message;
}

const label = { op: "add", path: "/metadata/labels", value: { a: "b" } };

test("a list that a webhook leaves empty counts as empty", async () => {
  const emptied = { op: "add", path: "/spec/sharedCounters", value: [] };
  assert.match((await createdSlice({ devices: [device] }, [emptied, label])) ?? "", both);
  assert.match((await createdSlice({ devices: [device] }, [emptied])) ?? "", both);
});

test("a list that came empty and is omitted where it is empty is unset after the patch of a webhook", async () => {
  const spec = { devices: [device], sharedCounters: [] };
  assert.match((await createdSlice(spec, [])) ?? "", both);
  assert.equal(await createdSlice(spec, [label]), undefined);
  const same = { op: "replace", path: "/metadata/name", value: "s" };
  assert.equal(await createdSlice(spec, [same]), undefined);
});

test("a webhook sees a list that is always written as empty if it came empty, else as null", async () => {
  const seen: unknown[] = [];
  const tested = await hooks.serverWith({
    mutating: [
      hookOf("rbac.authorization.k8s.io", "roles", ({ request }) => {
        seen.push(request.object.rules);
        return patch([label]);
      }),
    ],
  });
  for (const rules of [{ rules: [] }, {}]) {
    const body = { metadata: { generateName: "r" }, ...rules };
    const url = "/apis/rbac.authorization.k8s.io/v1/namespaces/n/roles";
    assert.equal((await tested.call("POST", url, { body })).status, 201);
  }
  assert.deepEqual(seen, [[], null]);
  await tested.server.close();
});
