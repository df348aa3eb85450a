/** The module also runs in browsers: it uses no feature of Node. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";

test("it runs in JavaScript without Node, and without code from strings", async () => {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "migrate.ts")],
    bundle: true,
    write: false,
    platform: "browser",
    format: "iife",
    globalName: "migration",
    conditions: ["dray-source"],
    logLevel: "silent",
  });
  const context = createContext({}, { codeGeneration: { strings: false, wasm: false } });
  runInContext(outputFiles[0]!.text, context);
  const text = "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceClass\nmetadata:\n  name: a # b\n";
  const call = `JSON.stringify(migration.migrate([{ file: "a", text: ${JSON.stringify(text)} }]))`;
  const { files } = JSON.parse(runInContext(call, context) as string) as { files: { text: string }[] };
  assert.equal(files[0]!.text, text.replace("v1beta2", "v1"));
});
