import assert from "node:assert/strict";
import { test } from "node:test";
import { layoutOf } from "@dray/cluster";
import { commandText } from "./target.ts";

test("a command that is recommended is about the cluster that is meant", () => {
  const env = { XDG_DATA_HOME: "/data" };
  const text = (folder: string, more: NodeJS.ProcessEnv = {}): string =>
    commandText(layoutOf(folder), "logs", "apiserver", { ...env, ...more });
  assert.equal(text("/data/dray/dray"), "`dray logs apiserver`");
  assert.equal(text("/data/dray/ci"), "`dray logs apiserver --name ci`");
  assert.equal(text("/else/where it is"), "`dray logs apiserver --data-dir '/else/where it is'`");
  const inherited = { DRAY_DATA_DIR: "/else/where" };
  assert.equal(text("/else/where", inherited), "`dray logs apiserver`");
  assert.equal(text("/data/dray/dray", inherited), "`dray logs apiserver --name dray`");
  assert.equal(text("/data/dray/dray", { npm_lifecycle_event: "npx" }), "`npx dray logs apiserver`");
});
