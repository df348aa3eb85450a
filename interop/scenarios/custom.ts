import assert from "node:assert/strict";
import type { Kind, KubeObject } from "@dray/api";
import { CustomResourceDefinition } from "@dray/api/apiextensions/v1";
import { ConfigMap, Namespace } from "@dray/api/core/v1";
import { eventually } from "@dray/testing/eventually";
import { refusal } from "../refusal.ts";
import type { Scenario, Stage } from "../scenario.ts";

interface Widget extends KubeObject {
  spec?: { size?: number; color?: string };
  status?: { phase?: string };
}

const validation = [{ rule: "self.size >= 1", message: "size must be positive" }];

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: { size: { type: "integer" }, color: { type: "string", default: "red" } },
      "x-kubernetes-validations": validation,
    },
    status: { type: "object", properties: { phase: { type: "string" } } },
  },
};

/** Creates a definition, waits until it is established, and answers its kind. */
async function define({
  admin,
  unique,
}: Stage): Promise<{ readonly name: string; readonly kind: Kind<Widget> }> {
  const kind = {
    group: `${unique}.dray.test`,
    version: "v1",
    kind: "Widget",
    resource: "widgets",
    namespaced: true,
  };
  const name = `widgets.${kind.group}`;
  await admin.resource(CustomResourceDefinition).create({
    metadata: { name },
    spec: {
      group: kind.group,
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  });
  await eventually("the definition is established", async () => {
    const { status } = await admin.resource(CustomResourceDefinition).get({ name });
    return status?.conditions?.some(
      (condition) => condition.type === "Established" && condition.status === "True",
    );
  });
  return { name, kind };
}

const definition: Scenario = {
  name: "CustomResourceDefinition: established, used, deleted with its objects",
  async run(stage) {
    const { admin, namespace } = stage;
    const { name, kind } = await define(stage);
    const widgets = admin.resource(kind);
    const metadata = { namespace, name: "interop-widget" };
    const made = await eventually("the kind is served", () =>
      widgets.create({ metadata, spec: { size: 1 } }),
    );
    assert.deepEqual(made.spec, { size: 1, color: "red" });
    const invalid = await refusal("a size of 0", widgets.patch(metadata, "merge", { spec: { size: 0 } }));
    assert.equal(invalid.code, 422);
    assert.equal(
      invalid.message,
      `Widget.${kind.group} "interop-widget" is invalid: spec: Invalid value: size must be positive`,
    );
    const status = await widgets.patch(
      metadata,
      "merge",
      { status: { phase: "Done" }, spec: { size: 9 } },
      { subresource: "status" },
    );
    assert.deepEqual([status.spec?.size, status.status?.phase], [1, "Done"]);
    await widgets.create({
      metadata: { namespace, name: "interop-held", finalizers: ["interop.dray.test/hold"] },
      spec: { size: 2 },
    });
    await admin.resource(CustomResourceDefinition).delete({ name });
    await eventually("the definition waits for an object with a finalizer", async () => {
      const { status } = await admin.resource(CustomResourceDefinition).get({ name });
      const left = (await widgets.list({ namespace })).items;
      return status?.conditions?.some((condition) => condition.type === "Terminating") && left.length === 1;
    });
    await widgets.patch({ namespace, name: "interop-held" }, "merge", { metadata: { finalizers: null } });
    await eventually("the definition is gone", async () => {
      const { items } = await admin.resource(CustomResourceDefinition).list();
      return !items.some((item) => item.metadata.name === name);
    });
    assert.equal((await refusal("a kind that is gone", widgets.list({ namespace }))).code, 404);
  },
};

const inNamespace: Scenario = {
  name: "CustomResourceDefinition: objects deleted with their namespace and their owner",
  async run(stage) {
    const { admin, unique } = stage;
    const { name, kind } = await define(stage);
    const widgets = admin.resource(kind);
    const namespace = `${unique}-content`;
    await admin.resource(Namespace).create({ metadata: { name: namespace }, spec: {} });
    const owner = await admin.resource(ConfigMap).create({ metadata: { namespace, name: "interop-owner" } });
    const reference = { apiVersion: "v1", kind: "ConfigMap", name: "interop-owner", uid: owner.metadata.uid };
    const create = (name: string, more: object = {}) =>
      eventually("the kind is served", () =>
        widgets.create({ metadata: { namespace, name, ...more }, spec: { size: 1 } }),
      );
    await create("interop-owned", { ownerReferences: [reference] });
    await create("interop-free");
    // The garbage collector asks for new kinds every 30 seconds.
    await admin.resource(ConfigMap).delete({ namespace, name: "interop-owner" });
    await eventually(
      "the owned object is gone",
      async () => {
        const { items } = await widgets.list({ namespace });
        return items.length === 1 && items[0]?.metadata.name === "interop-free";
      },
      120_000,
    );
    await admin.resource(Namespace).delete({ name: namespace });
    await eventually("the namespace is gone", async () => {
      return !(await admin.resource(Namespace).list()).items.some((item) => item.metadata.name === namespace);
    });
    assert.equal((await widgets.list({ namespace })).items.length, 0);
    await admin.resource(CustomResourceDefinition).delete({ name });
  },
};

export const custom: readonly Scenario[] = [inNamespace, definition];
