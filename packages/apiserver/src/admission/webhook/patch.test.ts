import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Answer, testServer } from "../../testing/server.ts";
import { Hooks } from "./testing.ts";

const hooks = new Hooks();
before(() => hooks.start());
after(() => hooks.stop());

const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/** Creates a ConfigMap with a webhook that returns this response; reports whether the ConfigMap is stored. */
async function createdWith(response: {
  readonly operations: unknown;
  readonly patchType?: string;
}): Promise<{ readonly answer: Answer; readonly stored: boolean }> {
  const tested = await testServer();
  await tested.namespace("n");
  const { operations, patchType = "JSONPatch" } = response;
  const patch = Buffer.from(JSON.stringify(operations)).toString("base64");
  const body = { metadata: { name: "hooks" }, webhooks: [hooks.hook("patch", () => ({ patchType, patch }))] };
  assert.equal((await tested.call("POST", configurations, { body })).status, 201);
  const answer = await tested.call("POST", "/api/v1/namespaces/n/configmaps", {
    body: { metadata: { name: "c" } },
  });
  const list = await tested.call("GET", "/api/v1/configmaps");
  const names = list.body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  await tested.server.close();
  return { answer, stored: names.includes("c") };
}

test("an object cannot be moved into another namespace", async () => {
  const { answer, stored } = await createdWith({
    operations: [{ op: "replace", path: "/metadata/namespace", value: "other" }],
  });
  assert.equal(answer.status, 400);
  assert.equal(
    answer.body.message,
    "the namespace of the provided object does not match the namespace sent on the request",
  );
  assert.equal(stored, false);
});

test("an invalid patch operation is an error of the webhook", async () => {
  assert.equal(
    (await createdWith({ operations: [null] })).answer.body.message,
    "Internal error occurred: Unexpected kind: unknown",
  );
  assert.equal(
    (await createdWith({ operations: [5] })).answer.body.message,
    'Internal error occurred: failed calling webhook "patch.webhooks.example.com": received undecodable patch in webhook response: json: cannot unmarshal number into Go value of type jsonpatch.Operation',
  );
});

test("another type of patch is refused where it has operations", async () => {
  assert.equal((await createdWith({ operations: [], patchType: "Merge" })).answer.status, 201);
  const { answer } = await createdWith({ operations: [{}], patchType: "Merge" });
  assert.equal(
    answer.body.message,
    'Internal error occurred: failed calling webhook "patch.webhooks.example.com": unsupported patch type "Merge"',
  );
});

test("a patch may have more operations than that of a client", async () => {
  const operations = (count: number, last: object): object[] => [
    { op: "add", path: "/metadata/annotations", value: {} },
    ...Array.from({ length: count }, (_, index) => ({
      op: "add",
      path: `/metadata/annotations/k${index}`,
      value: "v",
    })),
    last,
  ];
  const valid = { op: "add", path: "/metadata/annotations/last", value: "v" };
  const { answer } = await createdWith({ operations: operations(10_001, valid) });
  assert.equal(answer.status, 201);
  assert.equal(Object.keys(answer.body.metadata.annotations).length, 10_002);
  const wrong = { op: "remove", path: "/metadata/annotations/nosuch" };
  assert.equal(
    (await createdWith({ operations: operations(10_001, wrong) })).answer.body.message,
    "Internal error occurred: error in remove for path: '/metadata/annotations/nosuch': Unable to remove nonexistent key: nosuch: missing value",
  );
});

test("neither a patch nor the patched object may have too many values", async () => {
  const add = (count: number): object => ({ op: "add", path: "/x", value: new Array<number>(count).fill(0) });
  assert.equal(
    (await createdWith({ operations: [add(160_000)] })).answer.body.message,
    'Internal error occurred: failed calling webhook "patch.webhooks.example.com": received undecodable patch in webhook response: more than 150000 fields, keys and elements',
  );
  const { answer } = await createdWith({ operations: [add(110_000)] });
  assert.equal(answer.status, 413);
  assert.equal(
    answer.body.message,
    'Request entity too large: the object that admission webhook "patch.webhooks.example.com" returns has more than 100000 fields, keys and elements; divide it into several objects',
  );
});
