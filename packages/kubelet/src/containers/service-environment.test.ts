import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service, ServicePort } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { type ApiServerAddressInput, apiServerAddress, serviceEnvironment } from "./service-environment.ts";

const service = (namespace: string, name: string, clusterIP: string, ports: ServicePort[]): Service =>
  partial<Service>({ metadata: { namespace, name }, spec: { clusterIP, ports } });
const services = [
  service("ns1", "foo-bar", "1.2.3.4", [
    { name: "http", port: 8080, protocol: "TCP" },
    { name: "u-d-p", port: 8081, protocol: "UDP" },
  ]),
  service("ns1", "six", "fd00::1", [{ port: 53, protocol: "UDP" }]),
  service("ns1", "headless", "None", [{ port: 80 }]),
  service("ns1", "external", "", [{ port: 80 }]),
  service("ns1", "kubernetes", "9.9.9.9", [{ port: 1 }]),
  service("ns2", "other", "1.2.3.5", [{ port: 80 }]),
];
const apiServer = { host: "10.0.0.1", port: 6443 };
const kubernetes = {
  KUBERNETES_SERVICE_HOST: "10.0.0.1",
  KUBERNETES_SERVICE_PORT: "6443",
  KUBERNETES_SERVICE_PORT_HTTPS: "6443",
  KUBERNETES_PORT: "tcp://10.0.0.1:6443",
  KUBERNETES_PORT_6443_TCP: "tcp://10.0.0.1:6443",
  KUBERNETES_PORT_6443_TCP_PROTO: "tcp",
  KUBERNETES_PORT_6443_TCP_PORT: "6443",
  KUBERNETES_PORT_6443_TCP_ADDR: "10.0.0.1",
};

test("a container gets the variables of its namespace's Services and of the API server", () => {
  const env = serviceEnvironment({ services, namespace: "ns1", links: true, apiServer });
  assert.deepEqual(Object.fromEntries(env), {
    FOO_BAR_SERVICE_HOST: "1.2.3.4",
    FOO_BAR_SERVICE_PORT: "8080",
    FOO_BAR_SERVICE_PORT_HTTP: "8080",
    FOO_BAR_SERVICE_PORT_U_D_P: "8081",
    FOO_BAR_PORT: "tcp://1.2.3.4:8080",
    FOO_BAR_PORT_8080_TCP: "tcp://1.2.3.4:8080",
    FOO_BAR_PORT_8080_TCP_PROTO: "tcp",
    FOO_BAR_PORT_8080_TCP_PORT: "8080",
    FOO_BAR_PORT_8080_TCP_ADDR: "1.2.3.4",
    FOO_BAR_PORT_8081_UDP: "udp://1.2.3.4:8081",
    FOO_BAR_PORT_8081_UDP_PROTO: "udp",
    FOO_BAR_PORT_8081_UDP_PORT: "8081",
    FOO_BAR_PORT_8081_UDP_ADDR: "1.2.3.4",
    SIX_SERVICE_HOST: "fd00::1",
    SIX_SERVICE_PORT: "53",
    SIX_PORT: "udp://[fd00::1]:53",
    SIX_PORT_53_UDP: "udp://[fd00::1]:53",
    SIX_PORT_53_UDP_PROTO: "udp",
    SIX_PORT_53_UDP_PORT: "53",
    SIX_PORT_53_UDP_ADDR: "fd00::1",
    ...kubernetes,
  });
});

test("without enableServiceLinks only the API server's are there", () => {
  const env = serviceEnvironment({ services, namespace: "ns1", links: false, apiServer });
  assert.deepEqual(Object.fromEntries(env), kubernetes);
});

test("pods find the API server at its Service's address where that leads there, or directly", () => {
  const direct = { host: "127.0.0.1", port: 6443 };
  const elsewhere = { host: "192.0.2.1", port: 6443 };
  const clusterIP = { host: "10.0.0.1", port: 443 };
  const known = service("default", "kubernetes", "10.0.0.1", [{ name: "https", port: 443 }]);
  const address = (values: Partial<ApiServerAddressInput>) =>
    apiServerAddress({
      direct,
      leadsServices: false,
      isolatesNetwork: false,
      machineNetwork: false,
      service: known,
      ...values,
    });
  // host
  assert.deepEqual(address({}), direct);
  // oci
  assert.deepEqual(address({ leadsServices: true }), clusterIP);
  assert.deepEqual(address({ leadsServices: true, direct: elsewhere }), clusterIP);
  assert.deepEqual(address({ leadsServices: true, machineNetwork: true }), direct);
  assert.deepEqual(address({ leadsServices: true, service: undefined }), direct);
  // cri, whose network is not ours
  assert.deepEqual(address({ isolatesNetwork: true }), clusterIP);
  assert.deepEqual(address({ isolatesNetwork: true, direct: { host: "::1", port: 1 } }), clusterIP);
  assert.deepEqual(address({ isolatesNetwork: true, direct: elsewhere }), elsewhere);
  assert.deepEqual(address({ isolatesNetwork: true, machineNetwork: true }), direct);
});

test("the values of variables have the port at which a Service is served, their names the Service's", () => {
  const servedPort = (port: number): number => (port === 80 ? 64_592 : port);
  const input = { services, namespace: "ns2", links: true, apiServer, servedPort };
  const own = [...serviceEnvironment(input)].filter(([name]) => name.startsWith("OTHER_"));
  assert.deepEqual(Object.fromEntries(own), {
    OTHER_SERVICE_HOST: "1.2.3.5",
    OTHER_SERVICE_PORT: "64592",
    OTHER_PORT: "tcp://1.2.3.5:64592",
    OTHER_PORT_80_TCP: "tcp://1.2.3.5:64592",
    OTHER_PORT_80_TCP_PROTO: "tcp",
    OTHER_PORT_80_TCP_PORT: "64592",
    OTHER_PORT_80_TCP_ADDR: "1.2.3.5",
  });
});
