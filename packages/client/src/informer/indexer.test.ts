import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConfigMap } from "@dray/api/core/v1";
import { problemLog } from "@dray/testing/log";
import { partial } from "@dray/testing/partial";
import { Indexer } from "./indexer.ts";

const config = (name: string, key: string): ConfigMap =>
  partial<ConfigMap>({ metadata: { namespace: "d", name, uid: name, resourceVersion: "1" }, data: { key } });

test("an object for which an index or a handler throws does not keep others out", () => {
  const { log, problems } = problemLog();
  const indexer = new Indexer<ConfigMap>(
    {
      key: ({ data }) => {
        if (data?.["key"] === "odd") throw new TypeError("cannot read it");
        return [data?.["key"] ?? ""];
      },
    },
    log,
  );
  const added: string[] = [];
  indexer.handle({
    add({ metadata, data }) {
      if (data?.["key"] === "odd") throw new TypeError("cannot handle it");
      added.push(metadata.name);
    },
  });
  indexer.replace(
    new Map(
      [config("a", "x"), config("b", "odd"), config("c", "x")].map((each) => [each.metadata.name, each]),
    ),
  );
  assert.deepEqual(added, ["a", "c"]);
  assert.deepEqual(
    indexer.byIndex("key", "x").map(({ metadata }) => metadata.name),
    ["a", "c"],
  );
  assert.equal(indexer.list().length, 3);
  assert.equal(problems.length, 2);
  for (const problem of problems) assert.match(problem, /d\/b/);
  indexer.put({ ...config("b", "x"), metadata: { ...config("b", "x").metadata, resourceVersion: "2" } });
  assert.equal(indexer.byIndex("key", "x").length, 3);
});
