import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service, ServiceSpec } from "@dray/api/core/v1";
import type { Endpoint, EndpointSlice } from "@dray/api/discovery/v1";
import { partial } from "@dray/testing/partial";
import { ServiceNames } from "./names.ts";

const service = (namespace: string, name: string, spec: ServiceSpec): Service =>
  partial<Service>({ metadata: { namespace, name }, spec });
const slice = (endpoints: Endpoint[]): EndpointSlice =>
  partial<EndpointSlice>({ addressType: "IPv4", endpoints });

test("each form of a Service's name has its address, the shortest in its own namespace only", () => {
  const names = new ServiceNames("cluster.local");
  assert.equal(names.update("a", "web", service("a", "web", { clusterIP: "127.64.0.7" })), true);
  assert.equal(names.update("a", "web", service("a", "web", { clusterIP: "127.64.0.7" })), false);
  assert.equal(names.lines("a").text, "127.64.0.7\tweb.a.svc.cluster.local web.a.svc web.a web\n");
  assert.equal(names.lines("b").text, "127.64.0.7\tweb.a.svc.cluster.local web.a.svc web.a\n");
  assert.equal(names.update("a", "web"), true);
  assert.equal(names.lines("a").text, "");
});

test("a headless Service has the addresses of its ready endpoints, which have their own names", () => {
  const names = new ServiceNames("cluster.local");
  const endpoints = [
    { addresses: ["127.130.0.2"], hostname: "db-1" },
    { addresses: ["127.130.0.1"] },
    { addresses: ["127.130.0.3"], conditions: { ready: false } },
  ];
  names.update("a", "db", service("a", "db", { clusterIP: "None" }), [slice(endpoints)]);
  assert.deepEqual(names.lines("a").text.split("\n"), [
    "127.130.0.1\tdb.a.svc.cluster.local db.a.svc db.a db",
    "127.130.0.2\tdb-1.db.a.svc.cluster.local db-1.db.a.svc db-1.db.a db-1.db db.a.svc.cluster.local db.a.svc db.a db",
    "",
  ]);
});

test("an external name has the address of the Service that it names, others have none", () => {
  const names = new ServiceNames("cluster.local");
  const external = (name: string, externalName: string): void =>
    void names.update("a", name, service("a", name, { type: "ExternalName", externalName }));
  external("inside", "web.b.svc.cluster.local.");
  external("outside", "example.com");
  external("circle", "circle.a.svc.cluster.local");
  names.update("b", "web", service("b", "web", { clusterIP: "127.64.0.7" }));
  assert.equal(
    names.lines("a").text,
    "127.64.0.7\tinside.a.svc.cluster.local inside.a.svc inside.a inside\n127.64.0.7\tweb.b.svc.cluster.local web.b.svc web.b\n",
  );
});

test("the lines are bounded, and those of the own namespace come first", () => {
  const names = new ServiceNames("cluster.local");
  for (let i = 0; i < 5000; i++) {
    const namespace = i % 2 === 0 ? "a" : "b";
    names.update(namespace, `web-${i}`, service(namespace, `web-${i}`, { clusterIP: "127.64.0.7" }));
  }
  const { text, omitted } = names.lines("b");
  assert.ok(text.length <= 256 * 1024);
  assert.match(text, /^\S+\tweb-1\.b\.svc/);
  const lines = text.split("\n").length - 1;
  assert.equal(lines + omitted, 5000);
  assert.equal(text.match(/\.b\.svc\.cluster/g)?.length, 2500);
});
