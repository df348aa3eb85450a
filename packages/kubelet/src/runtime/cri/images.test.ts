import assert from "node:assert/strict";
import { test } from "node:test";
import { Container, Image } from "@dray/rpc/cri/v1";
import type { CriConnection } from "./connection.ts";
import { CriImages } from "./images.ts";

const images = ["id", "tag", "digest", "none"].map((name) =>
  Image.fromPartial({
    id: `sha256:${name}`,
    repoTags: [`example.com/${name}:1`],
    repoDigests: [`example.com/${name}@sha256:1`],
    pinned: name === "none",
  }),
);
const containers = [
  Container.fromPartial({ imageId: "sha256:id" }),
  Container.fromPartial({ image: { image: "example.com/tag:1" } }),
  Container.fromPartial({ imageRef: "example.com/digest@sha256:1" }),
];
const filters: unknown[] = [];
const connection = {
  runtime: {
    async listContainers({ filter }: { filter: unknown }) {
      filters.push(filter);
      return { containers };
    },
  },
  images: {
    listImages: async () => ({ images }),
    imageFsInfo: async () => ({ imageFilesystems: [{ fsId: { mountpoint: import.meta.dirname } }] }),
  },
} as unknown as CriConnection;

test("an image is used if a container of anybody names it by ID, tag or digest", async () => {
  const service = new CriImages(() => connection);
  assert.deepEqual(
    [...(await service.usedImages())].sort(),
    ["digest", "id", "tag"].map((name) => `example.com/${name}@sha256:1`),
  );
  assert.deepEqual(filters, [undefined], "not only those of this agent");
  const pinned = (await service.listImages()).filter((image) => image.pinned);
  assert.deepEqual(
    pinned.map(({ tags }) => tags),
    [["example.com/none:1"]],
  );
});

test("images are where the runtime says, if that is here", async () => {
  assert.equal(await new CriImages(() => connection).imageFolder(), import.meta.dirname);
  const elsewhere = {
    ...connection,
    images: { imageFsInfo: async () => ({ imageFilesystems: [{ fsId: { mountpoint: "/none" } }] }) },
  } as unknown as CriConnection;
  assert.equal(await new CriImages(() => elsewhere).imageFolder(), undefined);
});
