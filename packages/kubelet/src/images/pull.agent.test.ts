import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Event, Pod, Secret, ServiceAccount } from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { hostRuntime } from "../index.ts";
import { RuntimeError } from "../runtime/error.ts";
import type { Image, ImageService } from "../runtime/images.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

/** Images of a registry with a password; pulled ones exist. */
class GuardedImages implements ImageService {
  readonly pulls = true;
  readonly #pulled = new Map<string, Image>();

  async imageStatus(image: string): Promise<Image | undefined> {
    return this.#pulled.get(image);
  }

  async pullImage(image: string, credentials: Parameters<ImageService["pullImage"]>[1]): Promise<string> {
    const user = credentials.find(({ password }) => password === "open sesame")?.username;
    if (user === undefined) throw new RuntimeError("ErrImagePull", `pull access denied for ${image}`);
    const ref = `${image} for ${user}`;
    this.#pulled.set(image, { ref, tags: [image], digests: [], sizeBytes: 7 });
    return ref;
  }

  async listImages(): Promise<readonly Image[]> {
    return [...this.#pulled.values()];
  }

  async usedImages(): Promise<ReadonlySet<string>> {
    return new Set();
  }

  async imageFolder(): Promise<undefined> {}

  async removeImage(): Promise<void> {}
}

test("an image as a volume is refused where the runtime has no files of images", async () => {
  const cluster = await testCluster();
  try {
    const account = { metadata: { namespace: "default", name: "default" } };
    await cluster.admin.resource(ServiceAccount).create(account);
    await cluster.node("n1");
    const pod = podOn("n1", "reader", {
      volumes: [{ name: "data", image: { reference: "registry.example/data:v1" } }],
      containers: [
        { name: "main", command: ["true"], volumeMounts: [{ name: "data", mountPath: "/data-of-image" }] },
        { name: "other", command: ["sleep", "1000"] },
      ],
    });
    await cluster.admin.resource(Pod).create(pod);
    const message =
      'Container main cannot run: volume "data" is an image, and the runtime "host" has no files of images';
    const { status } = await podBecomes(
      cluster.admin,
      { namespace: "default", name: "reader" },
      ({ status: now }) =>
        now?.containerStatuses?.some(
          ({ state }) => state?.waiting?.reason === "CreateContainerConfigError",
        ) === true && now.containerStatuses.some(({ state }) => state?.running !== undefined),
    );
    assert.equal(status?.containerStatuses?.[0]?.state?.waiting?.message, message);
    await eventuallyPasses(async () => {
      const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
      const messages = items
        .filter(({ reason }) => reason === "UnsupportedByRuntime")
        .map((event) => event.message);
      assert.deepEqual(messages, [message]);
    });
  } finally {
    await cluster.close();
  }
});

describe("images of a registry that wants credentials", () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await testCluster();
    const auths = { "https://registry.example/v1/": { username: "ali", password: "open sesame" } };
    await cluster.admin.resource(Secret).create({
      metadata: { namespace: "default", name: "registry" },
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": Buffer.from(JSON.stringify({ auths })).toString("base64") },
    });
    // Admission adds the secrets of the account to its pods.
    await cluster.admin.resource(ServiceAccount).create({
      metadata: { namespace: "default", name: "default" },
      imagePullSecrets: [{ name: "registry" }],
    });
    await cluster.node("n1", {
      runtime: (node) => ({ ...hostRuntime({ images: [] })(node), images: new GuardedImages() }),
    });
  });
  after(() => cluster.close());

  const run = (name: string, image: string, imagePullSecrets?: { name: string }[]): Promise<Pod> =>
    cluster.admin.resource(Pod).create(
      podOn("n1", name, {
        restartPolicy: "Never",
        ...(imagePullSecrets && { imagePullSecrets }),
        containers: [{ name: "main", image, command: ["true"] }],
      }),
    );

  test("those of the pod's service account are handed to the pull", async () => {
    await run("mine", "registry.example/mine:1");
    const { status } = await podBecomes(
      cluster.admin,
      { namespace: "default", name: "mine" },
      (pod) => pod.status?.phase === "Succeeded",
    );
    assert.equal(status?.containerStatuses?.[0]?.imageID, "registry.example/mine:1 for ali");
  });

  test("a pull without them waits, and says why and which secret is missing", async () => {
    await run("others", "other.example/x:1", [{ name: "lost" }]);
    const { status } = await podBecomes(
      cluster.admin,
      { namespace: "default", name: "others" },
      (pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.reason === "ImagePullBackOff",
    );
    assert.equal(
      status?.containerStatuses?.[0]?.state?.waiting?.message,
      'Back-off pulling image "other.example/x:1": ErrImagePull: pull access denied for other.example/x:1',
    );
    await eventuallyPasses(async () => {
      const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
      const event = items.find(({ reason }) => reason === "FailedToRetrieveImagePullSecret");
      assert.equal(
        event?.message,
        "Unable to retrieve some image pull secrets (lost); attempting to pull the image may not succeed.",
      );
    });
    await cluster.admin.resource(Pod).delete({ namespace: "default", name: "others" });
  });
});
