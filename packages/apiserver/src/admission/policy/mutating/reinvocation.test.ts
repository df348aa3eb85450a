import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Hooks } from "../../webhook/testing.ts";
import { annotates, createConfigMap, path, serverWith, type TestPolicy } from "./testing.ts";

const hooks = new Hooks();
before(() => hooks.start());
after(() => hooks.stop());

/** Adds a letter to the annotation `log`. */
const logs = (letter: string): object =>
  annotates("log", `object.metadata.?annotations.log.orValue('') + '${letter}'`);

async function log(policies: readonly TestPolicy[], webhook?: object): Promise<string> {
  const tested = await serverWith(policies);
  if (webhook !== undefined) {
    const body = { metadata: { name: "hooks" }, webhooks: [webhook] };
    await tested.call("POST", `${path}/mutatingwebhookconfigurations`, { body });
  }
  const created = await createConfigMap(tested);
  await tested.server.close();
  return created.body.metadata.annotations.log;
}

/** A webhook that logs its letter as policies do. */
const logger = (letter: string, reinvocationPolicy: string): object =>
  hooks.hook(
    "log",
    ({ request }) => {
      const annotations = { log: `${request.object.metadata.annotations?.log ?? ""}${letter}` };
      const operations = [{ op: "add", path: "/metadata/annotations", value: annotations }];
      return { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(operations)).toString("base64") };
    },
    { reinvocationPolicy },
  );

test("policies run again, once, only if they want to", async () => {
  const never = { reinvocationPolicy: "Never" };
  const ifNeeded = { reinvocationPolicy: "IfNeeded" };
  assert.equal(
    await log([
      { ...never, mutations: [logs("a")] },
      { ...never, mutations: [logs("b")] },
    ]),
    "ab",
  );
  assert.equal(
    await log([
      { ...ifNeeded, mutations: [logs("a")] },
      { ...never, mutations: [logs("b")] },
    ]),
    "aba",
  );
  // Upstream counts what the last one has done itself: dispatcher.go, `lastVersionedAttr.Dirty`.
  assert.equal(await log([{ ...ifNeeded, mutations: [logs("a")] }]), "aa");
  assert.equal(await log([{ ...ifNeeded, mutations: [logs("a"), logs("b")] }]), "abab");
});

test("policies come before webhooks, and both see what the other has changed", async () => {
  const policy = (reinvocationPolicy: string): TestPolicy => ({ reinvocationPolicy, mutations: [logs("p")] });
  assert.equal(await log([policy("Never")], logger("w", "Never")), "pw");
  assert.equal(await log([policy("IfNeeded")], logger("w", "Never")), "pwp");
  // The webhook has run last: only what changes behind it makes it run again.
  assert.equal(await log([policy("Never")], logger("w", "IfNeeded")), "pw");
  assert.equal(await log([policy("IfNeeded")], logger("w", "IfNeeded")), "pwpw");
});
