import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Answer, type TestServer, testServer } from "../../../testing/server.ts";

const root = "/apis/storagemigration.k8s.io/v1";
const collection = `${root}/storageversionmigrations`;

let tested: TestServer;
before(async () => {
  tested = await testServer();
});
after(() => tested.server.close());

const create = (name: string, resource: object, status?: object): Promise<Answer> =>
  tested.call("POST", collection, { body: { metadata: { name }, spec: { resource }, status } });
const condition = (type: string, status = "True"): object => ({
  type,
  status,
  reason: "Test",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
const patchStatus = (name: string, status: object): Promise<Answer> =>
  tested.call("PATCH", `${collection}/${name}/status`, { body: { status } });
const causes = ({ body }: Answer): string[] =>
  body.details.causes.map(({ field, message }: { field: string; message: string }) => `${field}: ${message}`);

/** Upstream: test/e2e/apimachinery/storage_version_migration.go; pkg/apis/storagemigration/validation */
describe("StorageVersionMigrations", () => {
  test("are served as upstream serves them", async () => {
    const { body } = await tested.call("GET", root);
    assert.deepEqual(
      body.resources.map(({ name, storageVersionHash }: Record<string, string>) => [
        name,
        storageVersionHash,
      ]),
      [
        ["storageversionmigrations", "pCjmmKOkLy4="],
        ["storageversionmigrations/status", undefined],
      ],
    );
    assert.equal((await tested.call("GET", "/apis/storagemigration.k8s.io/v1beta1")).status, 404);
    const older = await testServer({ kubernetesVersion: "1.36" });
    assert.equal((await older.call("GET", root)).status, 404);
    await older.server.close();
  });

  test("begin without a status, and keep their spec", async () => {
    const created = await create("a", { group: "", resource: "foo" }, { resourceVersion: "1" });
    assert.equal(created.status, 201);
    assert.deepEqual(created.body.spec, { resource: { group: "", resource: "foo" } });
    assert.deepEqual(created.body.status, {});
    const headers = { "content-type": "application/apply-patch+yaml" };
    const body = {
      apiVersion: "storagemigration.k8s.io/v1",
      kind: "StorageVersionMigration",
      metadata: { labels: { a: "b" } },
    };
    const applied = await tested.call("PATCH", `${collection}/a?fieldManager=x`, { body, headers });
    assert.deepEqual([applied.status, applied.body.metadata.labels], [200, { a: "b" }]);
    const changed = await tested.call("PATCH", `${collection}/a`, {
      body: { spec: { resource: { resource: "bar" } } },
    });
    assert.equal(changed.status, 422);
    assert.match(causes(changed)[0]!, /^spec: .*field is immutable$/);
    const table = await tested.call("GET", `${collection}/a`, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    assert.deepEqual(table.body.rows[0].cells, ["a", "foo", "Unknown"]);
  });

  test("name one resource", async () => {
    assert.deepEqual(causes(await create("b", {})), [
      "spec.resource.resource: Required value: resource is required to be set",
    ]);
    const wrong = causes(await create("b", { group: "A", resource: "a.b" }));
    assert.deepEqual(
      wrong.map((text) => text.split(":")[0]),
      ["spec.resource.resource", "spec.resource.group"],
    );
  });

  test("end once, in one way", async () => {
    await create("c", { group: "apps", resource: "deployments" });
    const both = { resourceVersion: "5", conditions: [condition("Succeeded"), condition("Failed")] };
    assert.match(
      causes(await patchStatus("c", both))[0]!,
      /Both success and failed conditions cannot be true/,
    );
    assert.match(
      causes(await patchStatus("c", { resourceVersion: "05" }))[0]!,
      /resource version is not well formed: 05$/,
    );
    const done = {
      resourceVersion: "5",
      conditions: [condition("Running", "False"), condition("Succeeded")],
    };
    assert.equal((await patchStatus("c", done)).status, 200);
    const undone = await patchStatus("c", {
      resourceVersion: "6",
      conditions: [condition("Succeeded", "False")],
    });
    assert.deepEqual(
      causes(undone).map((text) => text.split(": ").at(-1)),
      ["field is immutable", "Success condition cannot be set to false once it is true"],
    );
    const table = await tested.call("GET", collection, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    const row = table.body.rows.find(({ cells }: { cells: string[] }) => cells[0] === "c");
    assert.deepEqual(row.cells, ["c", "deployments.apps", "Succeeded"]);
  });
});
