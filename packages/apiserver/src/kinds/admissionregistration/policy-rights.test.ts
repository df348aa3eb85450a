import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, testServer } from "../../testing/server.ts";

const path = "/apis/admissionregistration.k8s.io/v1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

test("a write of a policy with parameters requires the right to read them", async () => {
  const tested = await testServer({ kubernetesVersion: "1.36" });
  const rules = [
    { apiGroups: ["admissionregistration.k8s.io"], resources: ["*"], verbs: ["*"] },
    { apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
  ];
  await tested.call("POST", `${rbac}/clusterroles`, { body: { metadata: { name: "r" }, rules } });
  await tested.call("POST", `${rbac}/clusterrolebindings`, {
    body: {
      metadata: { name: "r" },
      roleRef: { kind: "ClusterRole", name: "r" },
      subjects: [{ kind: "User", name: "jane" }],
    },
  });
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
  const policy = (name: string, kind: string): Promise<Answer> =>
    tested.call("POST", `${path}/validatingadmissionpolicies`, {
      body: {
        metadata: { name },
        spec: {
          paramKind: { apiVersion: "v1", kind },
          matchConstraints: { resourceRules: [rule] },
          validations: [{ expression: "params == null" }],
        },
      },
      user: "jane",
    });
  const binding = (policyName: string, paramRef: object): Promise<Answer> =>
    tested.call("POST", `${path}/validatingadmissionpolicybindings`, {
      body: {
        metadata: { name: "b" },
        spec: {
          policyName,
          validationActions: ["Deny"],
          paramRef: { ...paramRef, parameterNotFoundAction: "Deny" },
        },
      },
      user: "jane",
    });
  const jane = "user &{jane  [system:authenticated] map[]}";
  const refused = await policy("config", "ConfigMap");
  assert.equal(refused.status, 422);
  assert.match(
    refused.body.message,
    /spec\.paramKind: Forbidden: user &\{jane {2}\[system:authenticated\] map\[\]\} must have "get" permission on all objects of the referenced paramKind \(kind=ConfigMap, apiVersion=v1\)$/,
  );
  assert.equal((await policy("secret", "Secret")).status, 201);
  const list = await binding("secret", { selector: {} });
  assert.ok(
    list.body.message.endsWith(
      `spec.paramRef: Forbidden: ${jane} does not have "list" permission on the object referenced by paramRef`,
    ),
    list.body.message,
  );
  const unknown = await binding("nosuch", { name: "x" });
  assert.ok(
    unknown.body.message.endsWith(
      `unable to get policy nosuch to determine minimum required permissions and ${jane} does not have "get" permission for all groups, versions and resources`,
    ),
    unknown.body.message,
  );
  assert.equal((await binding("secret", { name: "x" })).status, 201);
  await tested.server.close();
});
