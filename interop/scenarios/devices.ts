import assert from "node:assert/strict";
import { Deployment } from "@dray/api/apps/v1";
import { Pod } from "@dray/api/core/v1";
import { type DeviceClaim, DeviceClass, ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import { eventually } from "@dray/testing/eventually";
import { driver } from "../hollow-node.ts";
import type { Scenario, Stage } from "../scenario.ts";
import { isReady, livePods, podDraft, podTemplate } from "./pods.ts";

const name = "interop-devices";

/** A class of the devices of one model, so that two scenarios do not want the same ones. */
async function deviceClass({ admin, unique }: Stage, model: "small" | "large"): Promise<DeviceClaim> {
  const expression = `device.driver == "${driver}" && device.attributes["${driver}"].model == "${model}"`;
  await admin
    .resource(DeviceClass)
    .create({ metadata: { name: unique }, spec: { selectors: [{ cel: { expression } }] } });
  return { requests: [{ name: "gpu", exactly: { deviceClassName: unique } }] };
}

const devicesOf = (claims: readonly ResourceClaim[]): string[] =>
  claims.flatMap(({ status }) =>
    (status?.allocation?.devices?.results ?? []).map(({ pool, device }) => `${pool}/${device}`),
  );

const template: Scenario = {
  name: "claim template: each replica has a device of its own",
  async run(stage) {
    const { admin, namespace, unique } = stage;
    const devices = await deviceClass(stage, "small");
    await admin
      .resource(ResourceClaimTemplate)
      .create({ metadata: { namespace, name }, spec: { spec: { devices } } });
    const withClaim = podTemplate(name, {
      resourceClaims: [{ name: "gpu", resourceClaimTemplateName: name }],
    });
    withClaim.spec!.containers[0]!.resources = { claims: [{ name: "gpu" }] };
    const selector = { matchLabels: { app: name } };
    const ref = { namespace, name };
    await admin
      .resource(Deployment)
      .create({ metadata: ref, spec: { replicas: 3, selector, template: withClaim } });
    const available = () =>
      eventually("3 replicas are available", async () => {
        return (await admin.resource(Deployment).get(ref)).status?.availableReplicas === 3;
      });
    const claims = async () => (await admin.resource(ResourceClaim).list({ namespace })).items;
    await available();
    const devicesInUse = devicesOf(await claims());
    assert.equal(new Set(devicesInUse).size, 3, `three devices, each for one pod: ${devicesInUse}`);

    const [victim] = await livePods(stage, name);
    await admin.resource(Pod).delete({ namespace, name: victim!.metadata.name });
    await eventually("the pod has a successor, and its claim is gone", async () => {
      const left = await claims();
      const pods = (await livePods(stage, name)).filter(isReady);
      const owned = left.every(({ metadata }) => metadata.ownerReferences?.[0]?.uid !== victim!.metadata.uid);
      return pods.length === 3 && left.length === 3 && owned && devicesOf(left).length === 3;
    });
    await admin.resource(Deployment).patch(ref, "merge", { spec: { replicas: 0 } }, { subresource: "scale" });
    await eventually("all claims are gone", async () => (await claims()).length === 0);
    await admin.resource(DeviceClass).delete({ name: unique });
  },
};

const released: Scenario = {
  name: "claims: shared, released, and given to who waits",
  async run(stage) {
    const { admin, namespace, unique, nodes } = stage;
    const devices = await deviceClass(stage, "large");
    const whole = { requests: [{ name: "gpus", exactly: { deviceClassName: unique, count: 2 } }] };
    const claims = admin.resource(ResourceClaim);
    const pods = admin.resource(Pod);
    const names = Array.from({ length: nodes.length + 1 }, (_, index) => `${name}-${index}`);
    for (const name of names) {
      await claims.create({ metadata: { namespace, name }, spec: { devices: whole } });
      await pods.create(
        podDraft(namespace, name, { resourceClaims: [{ name: "gpus", resourceClaimName: name }] }),
      );
    }
    const ready = async () => (await pods.list({ namespace })).items.filter(isReady);
    await eventually("every node serves one pod, and one waits", async () => {
      const waiting = (await pods.list({ namespace })).items.filter(({ status }) =>
        status?.conditions?.some(({ type, reason }) => type === "PodScheduled" && reason === "Unschedulable"),
      );
      return (await ready()).length === nodes.length && waiting.length === 1;
    });
    const [first] = await ready();
    await pods.delete({ namespace, name: first!.metadata.name });
    await eventually("the one that waited runs", async () => {
      return (
        (await ready()).length === nodes.length &&
        !(await ready()).some(({ metadata }) => metadata.uid === first!.metadata.uid)
      );
    });
    await eventually("its claim is no longer allocated", async () => {
      const { status, metadata } = await claims.get({ namespace, name: first!.metadata.name });
      return (
        status?.allocation === undefined &&
        status?.reservedFor === undefined &&
        metadata.finalizers === undefined
      );
    });
    await pods.deleteCollection({ namespace });
    await eventually(
      "all devices are free",
      async () => devicesOf((await claims.list({ namespace })).items).length === 0,
    );

    const shared = { namespace, name: `${name}-shared` };
    await claims.create({ metadata: shared, spec: { devices } });
    for (const index of [0, 1])
      await pods.create(
        podDraft(namespace, `${name}-user-${index}`, {
          resourceClaims: [{ name: "gpu", resourceClaimName: shared.name }],
        }),
      );
    await eventually("both pods hold the claim", async () => {
      return (await ready()).length === 2 && (await claims.get(shared)).status?.reservedFor?.length === 2;
    });
    await claims.delete(shared);
    assert.ok((await claims.get(shared)).metadata.deletionTimestamp, "a claim in use stays");
    await pods.deleteCollection({ namespace });
    await eventually("the claim is gone after its pods", async () => {
      return !(await claims.list({ namespace })).items.some(({ metadata }) => metadata.name === shared.name);
    });
    await admin.resource(DeviceClass).delete({ name: unique });
  },
};

export const devices: readonly Scenario[] = [template, released];
