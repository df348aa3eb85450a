import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Quantity } from "@dray/api";
import { Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { fastClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { defaultImageGCPolicy, hostRuntime } from "../index.ts";
import type { Image, ImageService } from "../runtime/images.ts";
import type { RuntimeService } from "../runtime/service.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

/** Images that exist; containers run the commands of their pods. */
class TestImages implements ImageService {
  readonly pulls = true;
  readonly images: Image[] = ["used", "unused", "loaded"].map((name, i) => ({
    ref: `example.com/${name}@sha256:${i}`,
    tags: [`example.com/${name}:1`],
    digests: [`example.com/${name}@sha256:${i}`],
    sizeBytes: 1000 - i,
    pinned: name === "loaded",
  }));
  readonly #service: RuntimeService;

  constructor(service: RuntimeService) {
    this.#service = service;
  }

  async imageStatus(image: string): Promise<Image | undefined> {
    return this.images.find(({ tags }) => tags.includes(image));
  }

  async pullImage(image: string): Promise<string> {
    throw new Error(`there is no ${image}`);
  }

  async listImages(): Promise<readonly Image[]> {
    return [...this.images];
  }

  async usedImages(): Promise<ReadonlySet<string>> {
    return new Set((await this.#service.listContainers()).map(({ imageRef }) => imageRef));
  }

  async imageFolder(): Promise<string> {
    return "/";
  }

  async removeImage(ref: string): Promise<void> {
    this.images.splice(
      this.images.findIndex((image) => image.ref === ref),
      1,
    );
  }
}

let cluster: TestCluster;
after(() => cluster?.close());

test("a node whose disk is full removes images that no container uses, and shows the others", async () => {
  cluster = await testCluster();
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
  let available = "5Gi";
  await cluster.node("n1", {
    clock: fastClock(500),
    imageGC: defaultImageGCPolicy,
    runtime: (node) => {
      const { service } = hostRuntime({ images: [] })(node);
      return { service, images: new TestImages(service) };
    },
    signals: {
      observe: async () =>
        new Map([
          ["imagefs.available", { available: Quantity.parse(available), capacity: Quantity.parse("10Gi") }],
        ]),
      hasDedicatedImageFs: async () => false,
    },
  });
  const names = async (): Promise<(string | undefined)[]> => {
    const { status } = await cluster.admin.resource(Node).get({ name: "n1" });
    return (status?.images ?? []).map((image) => image.names?.at(-1));
  };
  const all = ["used", "unused", "loaded"].map((name) => `example.com/${name}:1`);
  await eventuallyPasses(async () => assert.deepEqual(await names(), all));
  const containers = [{ name: "main", image: "example.com/used:1", command: ["sleep", "1000"] }];
  await cluster.admin.resource(Pod).create(podOn("n1", "user", { containers }));
  const ref = { namespace: "default", name: "user" };
  await podBecomes(cluster.admin, ref, ({ status }) => status?.phase === "Running");
  available = "1Gi";
  await eventuallyPasses(async () =>
    assert.deepEqual(
      await names(),
      all.filter((name) => !name.includes("unused")),
    ),
  );
});
