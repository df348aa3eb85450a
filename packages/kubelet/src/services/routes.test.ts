import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service, ServiceSpec } from "@dray/api/core/v1";
import type { Endpoint, EndpointSlice } from "@dray/api/discovery/v1";
import { partial } from "@dray/testing/partial";
import { type ServiceRoute, serviceRoutes, usableEndpoints } from "./routes.ts";

const service = (name: string, spec: ServiceSpec, labels = {}): Service =>
  partial<Service>({ metadata: { namespace: "ns", name, labels }, spec });
const slice = (name: string, endpoints: Endpoint[], values: Partial<EndpointSlice> = {}): EndpointSlice =>
  partial<EndpointSlice>({
    metadata: { namespace: "ns", name: `${name}-x`, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints,
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
    ...values,
  });
const web: ServiceSpec = { clusterIP: "10.0.0.7", ports: [{ name: "http", port: 80, protocol: "TCP" }] };
const routes = (spec: ServiceSpec, slices: EndpointSlice[] = []): readonly ServiceRoute[] =>
  serviceRoutes([service("web", spec)], slices);
const addresses = (spec: ServiceSpec, slices: EndpointSlice[]): string[] =>
  routes(spec, slices).flatMap(({ endpoints }) => endpoints.map(({ address, port }) => `${address}:${port}`));

test("a route has the fields of its Service, and the endpoints of its port's name and protocol", () => {
  const spec: ServiceSpec = {
    ...web,
    type: "NodePort",
    ports: [
      { name: "http", port: 80, protocol: "TCP", nodePort: 30080 },
      { name: "dns", port: 53, protocol: "UDP" },
    ],
    externalIPs: ["192.0.2.1", "fd00::1"],
    sessionAffinity: "ClientIP",
    externalTrafficPolicy: "Local",
  };
  const both = slice("web", [{ addresses: ["10.1.0.2"], nodeName: "n" }, { addresses: ["10.1.0.1"] }]);
  const common = {
    clusterIP: "10.0.0.7",
    externalIPs: ["192.0.2.1"],
    affinitySeconds: 10_800,
    internalLocal: false,
    externalLocal: true,
  };
  assert.deepEqual(routes(spec, [both, slice("other", [{ addresses: ["10.1.0.9"] }])]), [
    { ...common, name: "ns/web:dns", protocol: "udp", port: 53, endpoints: [] },
    {
      ...common,
      name: "ns/web:http",
      protocol: "tcp",
      port: 80,
      nodePort: 30080,
      endpoints: [
        { address: "10.1.0.1", port: 8080 },
        { address: "10.1.0.2", port: 8080, node: "n" },
      ],
    },
  ]);
});

test("Services without an IPv4 address, and those with a proxy of their own, have no routes", () => {
  assert.deepEqual(routes({ ...web, clusterIP: "None" }), []);
  assert.deepEqual(routes({ ...web, clusterIP: "" }), []);
  assert.deepEqual(routes({ ...web, clusterIP: "fd00::1", clusterIPs: ["fd00::1"] }), []);
  assert.deepEqual(routes({ type: "ExternalName", externalName: "a.b" }), []);
  assert.equal(routes({ ...web, clusterIP: "fd00::1", clusterIPs: ["fd00::1", "10.0.0.7"] }).length, 1);
  const label = { "service.kubernetes.io/service-proxy-name": "mine" };
  assert.deepEqual(serviceRoutes([service("web", web, label)], []), []);
});

test("only IPv4 endpoints with a port count, each once, that are ready or still serve", () => {
  const one = { addresses: ["10.1.0.1"] };
  assert.deepEqual(addresses(web, [slice("web", [one], { addressType: "FQDN" })]), []);
  assert.deepEqual(addresses(web, [slice("web", [one], { ports: [{ name: "http" }] })]), []);
  assert.deepEqual(addresses(web, [slice("web", [one], { ports: [{ name: "x", port: 1 }] })]), []);
  assert.deepEqual(addresses(web, [slice("web", [{ ...one, conditions: { ready: false } }])]), []);
  assert.deepEqual(
    addresses(web, [
      slice("web", [{ ...one, conditions: { ready: false, serving: true, terminating: false } }]),
    ]),
    [],
  );
  const ending = { ...one, conditions: { ready: false, serving: true, terminating: true } };
  for (const slices of [
    [slice("web", [one]), slice("web", [ending])],
    [slice("web", [ending]), slice("web", [one])],
  ])
    assert.deepEqual(routes(web, slices)[0]?.endpoints, [{ address: "10.1.0.1", port: 8080 }]);
});

test("terminating endpoints are used where no endpoint is ready, of all nodes or of some", () => {
  const [route] = routes(web, [
    slice("web", [
      { addresses: ["10.1.0.1"], nodeName: "a" },
      {
        addresses: ["10.1.0.2"],
        nodeName: "b",
        conditions: { ready: false, serving: true, terminating: true },
      },
    ]),
  ]);
  const usable = (...nodes: string[]): string[] =>
    usableEndpoints(route!, nodes.length === 0 ? undefined : new Set(nodes)).map(({ address }) => address);
  assert.deepEqual(usable(), ["10.1.0.1"]);
  assert.deepEqual(usable("a", "b"), ["10.1.0.1"]);
  assert.deepEqual(usable("b"), ["10.1.0.2"]);
  assert.deepEqual(usable("c"), []);
});
