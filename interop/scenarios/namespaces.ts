import assert from "node:assert/strict";
import { type KubeObject, StatusError } from "@dray/api";
import { Deployment, StatefulSet } from "@dray/api/apps/v1";
import { Job } from "@dray/api/batch/v1";
import {
  ConfigMap,
  Namespace,
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  Secret,
  Service,
} from "@dray/api/core/v1";
import { Ingress, NetworkPolicy } from "@dray/api/networking/v1";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { Role } from "@dray/api/rbac/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { eventually } from "@dray/testing/eventually";
import { refusal } from "../refusal.ts";
import type { Scenario } from "../scenario.ts";
import { podDraft, podTemplate } from "./pods.ts";

const name = "interop-content";
const selector = { matchLabels: { app: name } };

const deletion: Scenario = {
  name: "Namespace: deleted with all that is in it",
  async run({ admin, unique: namespace }) {
    const namespaces = admin.resource(Namespace);
    await namespaces.create({ metadata: { name: namespace }, spec: {} });
    const metadata = { namespace, name };
    const template = podTemplate(name);
    await admin.resource(Deployment).create({ metadata, spec: { replicas: 2, selector, template } });
    await admin.resource(StatefulSet).create({ metadata, spec: { serviceName: name, selector, template } });
    await admin
      .resource(Job)
      .create({ metadata, spec: { template: podTemplate(name, { restartPolicy: "Never" }) } });
    await admin
      .resource(Service)
      .create({ metadata, spec: { selector: { app: name }, ports: [{ port: 80 }] } });
    await admin.resource(Secret).create({ metadata, stringData: { key: "value" } });
    await admin
      .resource(Role)
      .create({ metadata, rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] });
    await admin.resource(NetworkPolicy).create({ metadata, spec: { podSelector: {} } });
    await admin.resource(Ingress).create({
      metadata,
      spec: { defaultBackend: { service: { name, port: { number: 80 } } } },
    });
    await admin.resource(PodDisruptionBudget).create({ metadata, spec: { minAvailable: 1, selector } });
    await admin.resource(PersistentVolumeClaim).create({
      metadata,
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    await admin.resource(ResourceClaim).create({
      metadata,
      spec: { devices: { requests: [{ name: "none", exactly: { deviceClassName: "interop-none" } }] } },
    });
    const held = { namespace, name: "interop-held" };
    await admin.resource(ConfigMap).create({ metadata: { ...held, finalizers: ["interop.dray.test/hold"] } });
    await eventually("two pods run", async () => {
      return (await admin.resource(Deployment).get(metadata)).status?.readyReplicas === 2;
    });
    await namespaces.delete({ name: namespace });
    const refused = await refusal(
      "a new object in a namespace that ends",
      admin.resource(ConfigMap).create({ metadata: { namespace, name: "interop-late" } }),
    );
    assert.equal(refused.code, 403);
    assert.equal(refused.status.details?.causes?.[0]?.reason, "NamespaceTerminating");
    await eventually("only the object with a finalizer is left, and the namespace says so", async () => {
      const { status } = await namespaces.get({ name: namespace });
      const remaining = status?.conditions?.find(({ type }) => type === "NamespaceFinalizersRemaining");
      return (
        remaining?.status === "True" &&
        remaining.message?.includes("interop.dray.test/hold in 1 resource instances") &&
        (await admin.resource(Pod).list({ namespace })).items.length === 0 &&
        (await admin.resource(ConfigMap).list({ namespace })).items.length === 1
      );
    });
    await admin.resource(ConfigMap).patch(held, "merge", { metadata: { finalizers: null } });
    await eventually("the namespace is gone", async () => {
      return !(await namespaces.list()).items.some(({ metadata }) => metadata.name === namespace);
    });
  },
};

const quota: Scenario = {
  name: "ResourceQuota: used is counted, more is refused",
  async run({ admin, namespace }) {
    const quotas = admin.resource(ResourceQuota);
    const metadata = { namespace, name };
    const hard = { pods: "2", "requests.cpu": "1", "count/secrets": "1", "count/deployments.apps": "1" };
    await quotas.create({ metadata, spec: { hard } });
    const used = (what: string, amounts: Record<string, string>) =>
      eventually(`used is ${what}`, async () => {
        const { status } = await quotas.get(metadata);
        return Object.entries(amounts).every(([key, value]) => status?.used?.[key] === value);
      });
    await used("nothing", {
      pods: "0",
      "requests.cpu": "0",
      "count/secrets": "0",
      "count/deployments.apps": "0",
    });
    const pods = admin.resource(Pod);
    await pods.create(podDraft(namespace, "interop-one"));
    await pods.create(podDraft(namespace, "interop-two"));
    await used("two pods", { pods: "2", "requests.cpu": "200m" });
    const refused = await refusal("a third pod", pods.create(podDraft(namespace, "interop-three")));
    assert.equal(refused.code, 403);
    assert.equal(
      refused.message,
      `pods "interop-three" is forbidden: exceeded quota: ${name}, requested: pods=1, used: pods=2, limited: pods=2`,
    );
    const without = podDraft(namespace, "interop-four");
    without.spec.containers[0]!.resources = {};
    const unsaid = await refusal("a pod without a request", pods.create(without));
    assert.match(unsaid.message, /failed quota: .*: must specify requests.cpu for: main/);
    await pods.delete({ namespace, name: "interop-one" });
    await used("one pod", { pods: "1", "requests.cpu": "100m" });
    await pods.create(podDraft(namespace, "interop-three"));
    await used("two pods again", { pods: "2" });
    await admin.resource(Secret).create({ metadata, stringData: { key: "value" } });
    assert.equal(
      (
        await refusal(
          "a second secret",
          admin.resource(Secret).create({ metadata: { namespace, name: "interop-two" } }),
        )
      ).code,
      403,
    );
    await quotas.patch(metadata, "merge", { spec: { hard: { pods: "5" } } });
    await eventually(
      "the new limit is seen",
      async () => (await quotas.get(metadata)).status?.hard?.["pods"] === "5",
    );
  },
};

const garbage: Scenario = {
  name: "garbage collection: background, foreground, orphan",
  async run({ admin, namespace }) {
    const maps = admin.resource(ConfigMap);
    const owner = (name: string) => maps.create({ metadata: { namespace, name } });
    const dependent = (name: string, owner: KubeObject, finalizers: string[] = []) =>
      maps.create({
        metadata: {
          namespace,
          name,
          finalizers,
          ownerReferences: [
            {
              apiVersion: "v1",
              kind: "ConfigMap",
              name: owner.metadata.name,
              uid: owner.metadata.uid,
              blockOwnerDeletion: true,
            },
          ],
        },
      });
    const found = async (name: string) => {
      try {
        return await maps.get({ namespace, name });
      } catch (error) {
        if (StatusError.is(error, "NotFound")) return undefined;
        throw error;
      }
    };
    const gone = (name: string) =>
      eventually(`${name} is gone`, async () => (await found(name)) === undefined);

    const background = await owner("interop-background");
    await dependent("interop-background-child", background);
    await maps.delete({ namespace, name: "interop-background" }, { propagationPolicy: "Background" });
    assert.equal(await found("interop-background"), undefined, "the owner is gone at once");
    await gone("interop-background-child");

    const foreground = await owner("interop-foreground");
    await dependent("interop-foreground-child", foreground, ["interop.dray.test/hold"]);
    await maps.delete({ namespace, name: "interop-foreground" }, { propagationPolicy: "Foreground" });
    await eventually("the child is being deleted", async () => {
      return (await found("interop-foreground-child"))?.metadata.deletionTimestamp !== undefined;
    });
    assert.deepEqual((await found("interop-foreground"))?.metadata.finalizers, ["foregroundDeletion"]);
    await maps.patch({ namespace, name: "interop-foreground-child" }, "merge", {
      metadata: { finalizers: null },
    });
    await gone("interop-foreground-child");
    await gone("interop-foreground");

    const orphaning = await owner("interop-orphaning");
    await dependent("interop-orphan", orphaning);
    await maps.delete({ namespace, name: "interop-orphaning" }, { propagationPolicy: "Orphan" });
    await gone("interop-orphaning");
    assert.equal((await found("interop-orphan"))?.metadata.ownerReferences, undefined);

    const absent = { ...orphaning, metadata: { ...orphaning.metadata, name: "interop-absent" } };
    await dependent("interop-widow", absent);
    await gone("interop-widow");
  },
};

export const namespaces: readonly Scenario[] = [deletion, quota, garbage];
