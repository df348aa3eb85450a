import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { testServer } from "../testing/server.ts";

const services = "/api/v1/namespaces/n/services";
const ports = [{ port: 80 }];

test("Services get addresses of another range at the start, and others keep theirs", async () => {
  const store = memoryStore(systemClock);
  const first = await testServer({ store, serviceRanges: ["127.64.0.0/20"] });
  await first.namespace("n");
  await first.call("POST", "/apis/networking.k8s.io/v1/servicecidrs", {
    body: { metadata: { name: "more" }, spec: { cidrs: ["10.20.0.0/24"] } },
  });
  await first.call("PATCH", "/apis/networking.k8s.io/v1/servicecidrs/more/status", {
    body: {
      status: {
        conditions: [
          {
            type: "Ready",
            status: "True",
            reason: "",
            message: "",
            lastTransitionTime: "2026-01-01T00:00:00Z",
          },
        ],
      },
    },
  });
  for (const [name, spec] of Object.entries({
    web: { ports },
    none: { ports, clusterIP: "None" },
    other: { ports, clusterIP: "10.20.0.7" },
    name: { type: "ExternalName", externalName: "a.b" },
  }))
    assert.equal(
      (await first.call("POST", services, { body: { metadata: { name }, spec } })).status,
      201,
      name,
    );
  await first.server.close();

  const second = await testServer({ store, serviceRanges: ["127.70.16.0/20"], renumbersServices: true });
  const addressOf = async (name: string): Promise<string> =>
    (await second.call("GET", `${services}/${name}`)).body.spec.clusterIP;
  assert.match(await addressOf("web"), /^127\.70\.(1[6-9]|2\d|3[01])\.\d+$/);
  assert.equal(await addressOf("none"), "None");
  assert.equal(await addressOf("other"), "10.20.0.7");
  assert.equal(await addressOf("name"), undefined);
  const kubernetes = await second.call("GET", "/api/v1/namespaces/default/services/kubernetes");
  assert.equal(kubernetes.body.spec.clusterIP, "127.70.16.1");
  const { body } = await second.call("GET", "/apis/networking.k8s.io/v1/ipaddresses");
  assert.deepEqual(
    body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name).sort(),
    ["10.20.0.7", "127.70.16.1", await addressOf("web")].sort(),
  );
  const later = { metadata: { name: "later" }, spec: { ports } };
  assert.match((await second.call("POST", services, { body: later })).body.spec.clusterIP, /^127\.70\./);
  await second.server.close();
});

test("without the option a store keeps its range", async () => {
  const store = memoryStore(systemClock);
  const first = await testServer({ store, serviceRanges: ["127.64.0.0/20"] });
  await first.server.close();
  const second = await testServer({ store, serviceRanges: ["127.70.16.0/20"] });
  const { body } = await second.call("GET", "/api/v1/namespaces/default/services/kubernetes");
  assert.equal(body.spec.clusterIP, "127.64.0.1");
  await second.server.close();
});
