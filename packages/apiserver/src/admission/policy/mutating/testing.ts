/** For tests: a server with policies that mutate. */
import assert from "node:assert/strict";
import { type Answer, type TestServer, testServer } from "../../../testing/server.ts";

export const path = "/apis/admissionregistration.k8s.io/v1";

type Spec = Readonly<Record<string, unknown>>;

/** `binding`: further fields of the spec of its binding; `false`: none. */
export interface TestPolicy extends Spec {
  readonly binding?: Spec | false;
}

export const rule = {
  apiGroups: ["", "apps"],
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE"],
  resources: ["configmaps", "deployments"],
};

export const applies = (expression: string): object => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
});
export const patches = (expression: string): object => ({
  patchType: "JSONPatch",
  jsonPatch: { expression },
});

export const annotates = (key: string, value: string): object =>
  applies(`Object{metadata: Object.metadata{annotations: {${JSON.stringify(key)}: ${value}}}}`);

/** Policies `p0`, `p1`, … with bindings of these names. */
export async function addPolicies(tested: TestServer, policies: readonly TestPolicy[]): Promise<void> {
  for (const [i, { binding = {}, ...spec }] of policies.entries()) {
    const metadata = { name: `p${i}` };
    const body = {
      metadata,
      spec: { matchConstraints: { resourceRules: [rule] }, reinvocationPolicy: "Never", ...spec },
    };
    const created = await tested.call("POST", `${path}/mutatingadmissionpolicies`, { body });
    assert.equal(created.status, 201, created.body.message);
    if (binding === false) continue;
    const bound = await tested.call("POST", `${path}/mutatingadmissionpolicybindings`, {
      body: { metadata, spec: { policyName: metadata.name, ...binding } },
    });
    assert.equal(bound.status, 201, bound.body.message);
  }
}

export async function serverWith(policies: readonly TestPolicy[]): Promise<TestServer> {
  const tested = await testServer();
  await tested.namespace("n");
  await addPolicies(tested, policies);
  return tested;
}

export function createConfigMap(tested: TestServer, name = "c", more: object = {}): Promise<Answer> {
  return tested.call("POST", "/api/v1/namespaces/n/configmaps", { body: { metadata: { name }, ...more } });
}

export function createDeployment(tested: TestServer, spec: object = {}): Promise<Answer> {
  const labels = { app: "nginx" };
  const containers = [
    { name: "a", image: "nginx", env: [{ name: "X", value: "1" }] },
    { name: "b", image: "sidecar" },
  ];
  return tested.call("POST", "/apis/apps/v1/namespaces/n/deployments", {
    body: {
      metadata: { name: "d" },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers } },
        ...spec,
      },
    },
  });
}
