/** The requests of helm when it installs, upgrades and removes a release. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "@dray/api";
import { Secret } from "@dray/api/core/v1";
import { createRestMapper } from "@dray/client";
import { startKubectlServer } from "./harness.ts";

const base = "/api/v1/namespaces/default";

test("a release is stored in labelled Secrets, its objects are created, patched three-way and removed", async () => {
  const { admin, close } = await startKubectlServer();
  try {
    // The chart's capabilities: the version, and each group version with its kinds.
    const version = JSON.parse(await admin.text("GET", "/version"));
    assert.match(version.gitVersion, /^v1\.36\.\d+/);
    const mapper = createRestMapper(admin);
    const deployments = admin.resource(
      await mapper.find({ group: "apps", version: "v1", kind: "Deployment" }),
    );
    const { paths } = JSON.parse(await admin.text("GET", "/openapi/v3"));
    const schema = JSON.parse(await admin.text("GET", paths["apis/apps/v1"].serverRelativeURL));
    assert.ok("io.k8s.api.apps.v1.Deployment" in schema.components.schemas);

    const secrets = admin.resource(Secret);
    const release = (revision: number, status: string): object => ({
      metadata: {
        namespace: "default",
        name: `sh.helm.release.v1.web.v${revision}`,
        labels: { name: "web", owner: "helm", status, version: String(revision), modifiedAt: "1700000000" },
      },
      type: "helm.sh/release.v1",
      data: { release: Buffer.from("x".repeat(900_000)).toString("base64") },
    });
    const history = async (selector: string): Promise<string[]> =>
      (await secrets.list({ namespace: "default", labelSelector: selector })).items.map(
        ({ metadata }) => `${metadata.name} ${metadata.labels?.["status"]}`,
      );
    assert.deepEqual(await history("name=web,owner=helm"), []);
    const first = await secrets.create(release(1, "pending-install") as Secret);

    const deployment = (image: string): object => ({
      metadata: { namespace: "default", name: "web", labels: { "app.kubernetes.io/managed-by": "Helm" } },
      spec: {
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ name: "web", image, ports: [{ containerPort: 80 }] }] },
        },
      },
    });
    const ref = { namespace: "default", name: "web" };
    await deployments.create(deployment("web:1") as never, { fieldManager: "helm" });
    await secrets.update({
      ...first,
      ...(release(1, "deployed") as Secret),
      metadata: { ...first.metadata, ...(release(1, "deployed") as Secret).metadata },
    });
    assert.deepEqual(await history("owner=helm,status=deployed"), ["sh.helm.release.v1.web.v1 deployed"]);

    // Somebody has scaled it and added a container; the upgrade changes its own fields, and keeps those.
    await deployments.patch(ref, "strategic", {
      spec: { replicas: 3, template: { spec: { containers: [{ name: "side", image: "side:1" }] } } },
    });
    await secrets.create(release(2, "pending-upgrade") as Secret);
    const upgrade = {
      spec: {
        template: { spec: { containers: [{ name: "web", image: "web:2" }] } },
      },
    };
    await deployments.patch(ref, "strategic", upgrade, { fieldManager: "helm" });
    const upgraded = (await deployments.get(ref)) as unknown as {
      spec: {
        replicas: number;
        template: { spec: { containers: { name: string; image: string; ports?: object[] }[] } };
      };
    };
    const { containers } = upgraded.spec.template.spec;
    assert.deepEqual(containers.map(({ name, image, ports }) => [name, image, ports?.length ?? 0]).sort(), [
      ["side", "side:1", 0],
      ["web", "web:2", 1],
    ]);
    assert.equal(upgraded.spec.replicas, 3);

    // A later helm applies on the server's side, and takes over what it wants to have.
    const applied = { ...deployment("web:3"), metadata: ref };
    await assert.rejects(deployments.apply(applied, { fieldManager: "helm-4" }), (error) =>
      StatusError.is(error, "Conflict"),
    );
    await deployments.apply(applied, { fieldManager: "helm-4", force: true });
    await assert.rejects(secrets.create(release(2, "pending-upgrade") as Secret), (error) =>
      StatusError.is(error, "AlreadyExists"),
    );

    await deployments.delete(ref, { propagationPolicy: "Background" });
    for (const revision of [1, 2])
      await secrets.delete({ namespace: "default", name: `sh.helm.release.v1.web.v${revision}` });
    assert.deepEqual(await history("owner=helm"), []);
    await assert.rejects(admin.text("GET", `${base}/secrets/sh.helm.release.v1.web.v1`), (error) =>
      StatusError.is(error, "NotFound"),
    );
  } finally {
    await close();
  }
});
