import assert from "node:assert/strict";
import { test } from "node:test";
import type { Worker } from "node:worker_threads";
import { eventually } from "@dray/testing/eventually";
import { type Answer, type CallOptions, type TestServer, testServer } from "../testing/server.ts";
import { encodeYAML } from "../yaml/emit.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const yaml = { "content-type": "application/yaml" };
const apply = { "content-type": "application/apply-patch+yaml" };

const keys = (count: number, value = "v", key = "k"): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${key}${index}`, value]));
const map = (data: object, metadata: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "m", ...metadata },
  data,
});

/** Returns a response, and the number of turns of the event loop that others had before it. */
async function amongOthers(
  { call }: TestServer,
  method: string,
  url: string,
  options: CallOptions,
): Promise<Answer & { readonly others: number }> {
  let [others, ended] = [0, false];
  const answer = call(method, url, options).finally(() => {
    ended = true;
  });
  const small = call("GET", "/api/v1/namespaces/default").then(({ status }) => {
    assert.equal(status, 200);
    return ended;
  });
  while (!ended) {
    await new Promise(setImmediate);
    others++;
  }
  assert.equal(await small, false, "a small request was answered after a large one");
  return { ...(await answer), others };
}

/** Turns of the event loop between two pieces of a large request. */
const turns = 16;

test("other requests proceed between the steps of any large write", async () => {
  const tested = await testServer();
  const data = (letter: string): Record<string, string> => keys(3000, letter.repeat(100));
  const large = map(data("a"));
  const patched = { data: data("b") };
  const operations = [{ op: "replace", path: "/data", value: data("c") }];
  const patch = (type: string): Record<string, string> => ({ "content-type": `application/${type}` });
  const one = `${maps}/m`;
  const steps: readonly (readonly [string, string, CallOptions])[] = [
    ["POST", maps, { body: large }],
    ["PUT", one, { body: map(data("d")) }],
    ["PATCH", one, { body: patched, headers: patch("merge-patch+json") }],
    ["PATCH", one, { body: operations, headers: patch("json-patch+json") }],
    ["PATCH", one, { body: patched, headers: patch("strategic-merge-patch+json") }],
    ["PATCH", `${one}?fieldManager=f&force=true`, { body: large, headers: apply }],
  ];
  for (const [method, url, options] of steps) {
    const { status, others } = await amongOthers(tested, method, url, options);
    assert.ok(status < 300, `${method} ${JSON.stringify(options.headers)}: ${status}`);
    assert.ok(others >= 5 * turns, `${others} others beside ${method} ${JSON.stringify(options.headers)}`);
  }
  const changed = { data: { a: "b" } };
  let small = 0;
  const counted = tested.call("PATCH", one, { body: changed }).finally(() => {
    ended = true;
  });
  let ended = false;
  for (; !ended; small++) await new Promise(setImmediate);
  assert.equal((await counted).status, 200);
  assert.ok(small < turns, `a small write has paused for ${small} turns`);
  await tested.server.close();
});

test("other requests proceed while definitions and custom resources with many rules are checked", async () => {
  const tested = await testServer();
  const rules = (count: number, rule: (index: number) => string): object => ({
    "x-kubernetes-validations": Array.from({ length: count }, (_, index) => ({ rule: rule(index) })),
  });
  const properties = Object.fromEntries(
    Array.from({ length: 400 }, (_, index) => [
      `k${index}`,
      { type: "string", maxLength: 5, description: "d".repeat(800), ...rules(1, () => "self != 'a'") },
    ]),
  );
  const all = rules(12, (index) => `self.all(x, self.all(y, x + y >= -${index}))`);
  const numbers = { type: "array", maxItems: 180, items: { type: "integer" }, ...all };
  const names = { kind: "Thing", plural: "things", singular: "thing", listKind: "ThingList" };
  const schema = { openAPIV3Schema: { type: "object", properties: { ...properties, numbers } } };
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      names,
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const created = await amongOthers(tested, "POST", definitions, { body: definition });
  assert.equal(created.status, 201);
  assert.ok(created.others >= 13 * turns, `${created.others} others beside a definition`);
  const things = "/apis/example.com/v1/namespaces/default/things";
  await eventually("things are served", async () => (await tested.call("GET", things)).status === 200);
  const thing = {
    apiVersion: "example.com/v1",
    kind: "Thing",
    metadata: { name: "a", annotations: { long: "x".repeat(262_100) } },
    numbers: Array.from({ length: 180 }, (_, index) => index),
  };
  const stored = await amongOthers(tested, "POST", things, { body: thing });
  assert.equal(stored.status, 201);
  assert.ok(stored.others >= 13 * turns, `${stored.others} others beside a custom resource`);
  await tested.server.close();
});

test("long YAML is parsed in a thread, with the same result and the same errors", async () => {
  const tested = await testServer();
  const lines = (...extra: string[]): string =>
    [encodeYAML(map(keys(6000, "value"))).trimEnd(), ...extra].join("\n");
  const texts = [
    lines(),
    lines("binaryData: {}", "immutable: yes", "immutable: no"),
    lines("immutable: &a true", "x: *a"),
    lines("x: *unknown"),
    lines("x: [1, 2"),
    lines(`x: 12345678901234567890`, "y: 1e20", "z: 0x1f", "__proto__: {a: b}"),
    lines("x: .nan"),
    lines(`x: ${"[".repeat(9000)}${"]".repeat(9000)}`),
    `${"- ".repeat(50_000)}`,
    `${"a: ".repeat(50_000)}`,
  ];
  let threads = 0;
  const count = (): void => void threads++;
  process.on("worker", count);
  for (const [index, long] of texts.entries()) {
    // With fewer keys the same text is decoded at once.
    const short = long.replaceAll(/\n {2}k\d+: value(?=\n {2}k)/g, "");
    const name = `m${index}`;
    const answer = async (text: string): Promise<unknown> => {
      const named = text.replace("name: m", `name: ${name}`);
      const { status, headers, body } = await tested.call("POST", `${maps}?fieldValidation=Warn`, {
        body: named,
        headers: yaml,
      });
      await tested.call("DELETE", `${maps}/${name}`);
      const line = (shown: string): string =>
        shown.replaceAll(/line \d+/g, "line N").replace(/ \([0-9a-f]+ ...\)$/, "");
      return {
        status,
        message: line(String(body.message)),
        warning: line(String(headers["warning"])),
        immutable: body.immutable,
      };
    };
    assert.deepEqual(await answer(long), await answer(short), long.slice(-100));
    const isShorter = short.length < long.length;
    assert.equal(threads, isShorter ? 1 : 2, long.slice(-100));
    threads = 0;
  }
  process.off("worker", count);
  await tested.server.close();
});

test("YAML threads run one after the other, and a failed one blocks no other", async () => {
  const tested = await testServer();
  let [running, peak] = [0, 0];
  const count = (worker: Worker): void => {
    peak = Math.max(peak, ++running);
    worker.once("exit", () => running--);
  };
  process.on("worker", count);
  const texts = ["", "\nx: [1, 2", "", ""].map(
    (end, index) => `${encodeYAML(map(keys(12_000), { name: `m${index}` })).trimEnd()}${end}`,
  );
  const answers = await Promise.all(texts.map((body) => tested.call("POST", maps, { body, headers: yaml })));
  process.off("worker", count);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 400, 201, 201],
  );
  assert.equal(peak, 1);
  await tested.server.close();
});

test("the size limit is checked after other errors, also in dry runs", async () => {
  const tested = await testServer();
  // The values alone would be smaller than the limit of a ConfigMap.
  const long = "k".repeat(100);
  const tooLarge = map(keys(16_000, "v", long));
  const refused = await tested.call("POST", maps, { body: tooLarge });
  assert.equal(refused.status, 500);
  assert.equal(refused.body.message, "etcdserver: request is too large");
  const wrong = await tested.call("POST", maps, { body: map(keys(16_000, "v", `${long}/`)) });
  assert.equal(wrong.status, 422);
  const dry = await tested.call("POST", `${maps}?dryRun=All`, { body: tooLarge });
  assert.equal(dry.status, 201);
  assert.equal(Object.keys(dry.body.metadata.managedFields[0].fieldsV1["f:data"]).length, 16_001);
  assert.equal((await tested.call("POST", maps, { body: map({}) })).status, 201);
  const again = await tested.call("POST", maps, { body: tooLarge });
  assert.equal(again.body.message, 'configmaps "m" already exists');
  const changed = await tested.call("PUT", `${maps}/m`, { body: tooLarge });
  assert.equal(changed.body.message, "etcdserver: request is too large");
  const stale = await tested.call("PUT", `${maps}/m`, {
    body: map(keys(16_000, "v", long), { resourceVersion: "1" }),
  });
  assert.equal(stale.status, 409);
  await tested.server.close();
});
