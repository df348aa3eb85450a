import assert from "node:assert/strict";
import {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "@dray/api/admissionregistration/v1";
import { SelfSubjectReview } from "@dray/api/authentication/v1";
import { ConfigMap, Node, Pod, Secret, ServiceAccount } from "@dray/api/core/v1";
import { ClusterRole, Role, RoleBinding } from "@dray/api/rbac/v1";
import { eventually } from "@dray/testing/eventually";
import { refusal } from "../refusal.ts";
import type { Scenario, Stage } from "../scenario.ts";
import { podDraft } from "./pods.ts";

const name = "interop-access";

/** Asks as the bearer of a token; answers who it is, or rejects. */
async function whoIs({ admin }: Stage, token: string): Promise<string | undefined> {
  const review = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    metadata: {},
    spec: { token },
  };
  const answer = await admin.text("POST", "/apis/authentication.k8s.io/v1/tokenreviews", { body: review });
  return (JSON.parse(answer) as { status: { user?: { username?: string } } }).status.user?.username;
}

const serviceAccount: Scenario = {
  name: "ServiceAccount: root certificates, tokens, token Secrets",
  async run(stage) {
    const { admin, namespace } = stage;
    await eventually("the namespace has its service account and certificates", async () => {
      await admin.resource(ServiceAccount).get({ namespace, name: "default" });
      const { data } = await admin.resource(ConfigMap).get({ namespace, name: "kube-root-ca.crt" });
      return data?.["ca.crt"]?.startsWith("-----BEGIN CERTIFICATE-----");
    });
    const accounts = admin.resource(ServiceAccount);
    await accounts.create({ metadata: { namespace, name } });
    const user = `system:serviceaccount:${namespace}:${name}`;
    const request = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { audiences: [], expirationSeconds: 600 },
    };
    const { status } = await accounts.post<{ status: { token: string } }>(
      { namespace, name },
      "token",
      request,
    );
    assert.equal(await whoIs(stage, status.token), user);

    const annotations = { "kubernetes.io/service-account.name": name };
    const type = "kubernetes.io/service-account-token";
    await admin.resource(Secret).create({ metadata: { namespace, name, annotations }, type });
    const token = await eventually("the token controller fills the Secret", async () => {
      return (await admin.resource(Secret).get({ namespace, name })).data?.["token"];
    });
    assert.equal(await whoIs(stage, Buffer.from(token, "base64").toString()), user);
    await accounts.delete({ namespace, name });
    await eventually("the Secret goes with its account", async () => {
      return (await admin.resource(Secret).list({ namespace })).items.length === 0;
    });
    await eventually("the token of a deleted account is worth nothing", async () => {
      // Upstream caches the answers of the authenticator for ten seconds.
      return (await whoIs(stage, status.token)) === undefined;
    });
  },
};

const roles: Scenario = {
  name: "RBAC: roles, bindings, aggregation",
  async run({ admin, users, namespace, unique }) {
    const user = await users.client(unique);
    try {
      const maps = user.resource(ConfigMap);
      const refused = await refusal("a user without roles", maps.list({ namespace }));
      assert.equal(
        refused.message,
        `configmaps is forbidden: User "${unique}" cannot list resource "configmaps" in API group "" in the namespace "${namespace}"`,
      );
      const metadata = { namespace, name };
      await admin
        .resource(Role)
        .create({ metadata, rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }] });
      await admin.resource(RoleBinding).create({
        metadata,
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: unique }],
      });
      await eventually("the user may list", async () => {
        const review = await user.resource(SelfSubjectReview).create({ metadata: {} });
        assert.equal(review.status?.userInfo?.username, unique);
        return maps.list({ namespace }).then(
          () => true,
          () => false,
        );
      });
    } finally {
      user.close();
    }
    const label = `interop.dray.test/aggregate-${unique}`;
    const clusterRoles = admin.resource(ClusterRole);
    const rule = { apiGroups: ["interop.dray.test"], resources: ["things"], verbs: ["get"] };
    await clusterRoles.create({
      metadata: { name: unique },
      rules: [],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [label]: "true" } }] },
    });
    const part = `${unique}-part`;
    await clusterRoles.create({ metadata: { name: part, labels: { [label]: "true" } }, rules: [rule] });
    await eventually("the rules are gathered", async () => {
      const { rules } = await clusterRoles.get({ name: unique });
      return rules?.[0]?.resources?.[0] === "things";
    });
    await clusterRoles.delete({ name: unique });
    await clusterRoles.delete({ name: part });
  },
};

const policy: Scenario = {
  name: "ValidatingAdmissionPolicy: type-checked, and in force",
  async run({ admin, namespace, unique }) {
    const policies = admin.resource(ValidatingAdmissionPolicy);
    await policies.create({
      metadata: { name: unique },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [
            { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] },
          ],
        },
        validations: [{ expression: "!object.metadata.name.endsWith('-bad')", message: "a bad name" }],
      },
    });
    await admin.resource(ValidatingAdmissionPolicyBinding).create({
      metadata: { name: unique },
      spec: {
        policyName: unique,
        validationActions: ["Deny"],
        matchResources: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } },
      },
    });
    await eventually("its expressions have been checked", async () => {
      const { metadata, status } = await policies.get({ name: unique });
      return (
        status?.observedGeneration === metadata.generation &&
        (status?.typeChecking?.expressionWarnings ?? []).length === 0
      );
    });
    const maps = admin.resource(ConfigMap);
    const message = await eventually("it refuses", async () => {
      const metadata = { namespace, name: "interop-bad" };
      return maps.create({ metadata }, { dryRun: true }).then(
        () => undefined,
        (error: Error) => error.message,
      );
    });
    assert.equal(
      message,
      `configmaps "interop-bad" is forbidden: ValidatingAdmissionPolicy '${unique}' with binding '${unique}' denied request: a bad name`,
    );
    await maps.create({ metadata: { namespace, name: "interop-good" } });
    await admin.resource(ValidatingAdmissionPolicyBinding).delete({ name: unique });
    await policies.delete({ name: unique });
  },
};

const lostNode: Scenario = {
  name: "Node: found dead, tainted, and its pods collected after it",
  async run({ admin, namespace, unique }) {
    await admin.resource(Node).create({ metadata: { name: unique }, spec: { unschedulable: true } });
    const pods = admin.resource(Pod);
    await pods.create(
      podDraft(namespace, "interop-lost", { nodeName: unique, tolerations: [{ operator: "Exists" }] }),
    );
    await eventually(
      "the node is unreachable",
      async () => {
        const { spec, status } = await admin.resource(Node).get({ name: unique });
        const ready = status?.conditions?.find(({ type }) => type === "Ready");
        return (
          ready?.status === "Unknown" &&
          spec.taints?.some(({ key }) => key === "node.kubernetes.io/unreachable")
        );
      },
      120_000,
    );
    await admin.resource(Node).delete({ name: unique });
    await eventually(
      "its pod is gone",
      async () => (await pods.list({ namespace })).items.length === 0,
      120_000,
    );
  },
};

export const access: readonly Scenario[] = [lostNode, serviceAccount, roles, policy];
