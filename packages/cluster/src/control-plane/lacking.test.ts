import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@dray/api";
import { createServer } from "@dray/apiserver";
import { systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { lackWarnings } from "./lacking.ts";

const object = (spec: object): KubeObject => ({ spec }) as never;

test("creating a kind that nothing acts on returns a warning, creating another none", () => {
  const host = lackWarnings("host");
  assert.match(host("networking.k8s.io", "networkpolicies", object({})).join(), /are not enforced/);
  assert.deepEqual(host("storagemigration.k8s.io", "storageversionmigrations", object({})), []);
  assert.deepEqual(host("certificates.k8s.io", "podcertificaterequests", object({})), []);
  assert.deepEqual(host("", "pods", object({})), []);
});

test("warns of objects that need what the runtime lacks", () => {
  const of = (runtime: string, spec: object): string =>
    lackWarnings(runtime)("", "services", object(spec)).join();
  assert.equal(of("host", { type: "ClusterIP" }), "");
  assert.match(of("host", { type: "LoadBalancer" }), /^spec\.type: this cluster has no load balancers/);
  assert.equal(of("oci", { type: "NodePort" }), "");
  assert.match(of("oci", { type: "LoadBalancer" }), /^spec\.type: this cluster has no load balancers/);
  const policy = (runtime: string): string =>
    lackWarnings(runtime)("networking.k8s.io", "networkpolicies", object({})).join();
  assert.match(policy("oci"), /not enforced with --runtime oci/);
  assert.equal(policy("cri:/run/containerd.sock"), "", "it has a network of its own");
  const runtimeClass = (handler: string): string =>
    lackWarnings("oci")("node.k8s.io", "runtimeclasses", { handler } as never).join();
  assert.match(
    runtimeClass("kata"),
    /no runtime beside that of --runtime oci: pods with handler "kata" do not start/,
  );
  assert.equal(runtimeClass("runc"), "");
});

test("the API server answers a creation with the warning, and a change without", async () => {
  const store = memoryStore(systemClock);
  const server = await createServer({ store, creationWarnings: lackWarnings("oci") });
  const transport = server.transport({ name: "admin", groups: ["system:masters"] });
  const send = async (method: string, path: string): Promise<readonly string[]> => {
    const { status, headers } = await transport.request({
      method,
      url: `/apis/networking.k8s.io/v1/namespaces/default/networkpolicies${path}`,
      headers: method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {},
      body: {
        apiVersion: "networking.k8s.io/v1",
        kind: "NetworkPolicy",
        metadata: { name: "n", labels: { method } },
        spec: { podSelector: {} },
      },
      signal: new AbortController().signal,
    });
    assert.ok(status < 300, `${status}`);
    return [headers["warning"] ?? []].flat();
  };
  assert.deepEqual(await send("POST", ""), [
    '299 - "NetworkPolicies are not enforced with --runtime oci: pods reach each other"',
  ]);
  assert.deepEqual(await send("PATCH", "/n"), []);
  await server.close();
  await store.close();
});
