import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "@dray/client";
import { skipClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { RuntimeError } from "../runtime/error.ts";
import type { Image, ImageService } from "../runtime/images.ts";
import { ImageCollector } from "./collector.ts";
import { defaultImageGCPolicy, type FileSystemUse, type ImageGCPolicy } from "./policy.ts";

const image = (ref: string, sizeBytes: number, more: Partial<Image> = {}): Image => ({
  ref,
  tags: [`${ref}:1`],
  digests: [`${ref}@sha256:0`],
  sizeBytes,
  ...more,
});

function setUp(images: Image[], policy: Partial<ImageGCPolicy> = {}) {
  const clock = skipClock();
  const used = new Set<string>();
  const stuck = new Set<string>();
  const volumeImages: string[] = [];
  const events: string[] = [];
  let use: FileSystemUse | undefined = { capacity: 1000n, available: 500n };
  let changes = 0;
  const service: ImageService = {
    pulls: true,
    async imageStatus(name) {
      if (name === "Invalid") throw new RuntimeError("InvalidImageName", "invalid reference format");
      return images.find(({ tags }) => tags.includes(name));
    },
    pullImage: async () => "",
    listImages: async () => [...images],
    usedImages: async () => used,
    imageFolder: async () => "/",
    async removeImage(ref) {
      if (stuck.has(ref)) throw new Error(`${ref} is stuck`);
      const at = images.findIndex((one) => one.ref === ref);
      assert.notEqual(at, -1, ref);
      images.splice(at, 1);
    },
  };
  const collector = new ImageCollector({
    images: service,
    policy: { ...defaultImageGCPolicy, ...policy },
    clock,
    log: silentLog,
    fileSystem: async () => use,
    volumeImages: () => volumeImages,
    event: (reason, message) => void events.push(`${reason}: ${message}`),
    changed: () => void changes++,
  });
  const refs = (): string[] => images.map(({ ref }) => ref);
  const full = (available: bigint): void => {
    use = { capacity: 1000n, available };
  };
  return { clock, volumeImages, used, stuck, events, collector, refs, full, images, changes: () => changes };
}

test("a full disk loses images until enough is free: not young ones, and none in use", async () => {
  const { clock, collector, refs, full, used, images, events } = setUp([
    image("old", 40),
    image("older", 40),
    image("used", 500),
    image("loaded", 500, { pinned: true }),
  ]);
  used.add("used");
  await collector.collect();
  used.add("old");
  clock.skip(60_000);
  await collector.collect();
  used.delete("old");
  clock.skip(60_000);
  images.push(image("young", 900));
  assert.equal(refs().length, 5, "below the threshold nothing goes");
  full(110n);
  await assert.rejects(
    collector.collect(),
    /Insufficient free disk space .* \(89% of 1000 B used\)\. .*freed 80 bytes/,
  );
  assert.deepEqual(refs(), ["used", "loaded", "young"]);
  assert.match(events.join(), /^FreeDiskSpaceFailed: Insufficient/);
  clock.skip(200_000);
  await collector.collect();
  assert.deepEqual(refs(), ["used", "loaded"]);
});

test("no more goes than has to", async () => {
  const { clock, collector, refs, full } = setUp([image("a", 60), image("b", 60)]);
  await collector.collect();
  clock.skip(200_000);
  full(150n);
  await collector.collect();
  assert.deepEqual(refs(), ["b"]);
});

test("one that cannot be removed stops no other", async () => {
  const { clock, collector, refs, full, stuck } = setUp([image("a", 60), image("b", 60)]);
  await collector.collect();
  clock.skip(200_000);
  full(150n);
  stuck.add("a");
  await assert.rejects(collector.collect(), /a is stuck/);
  assert.deepEqual(refs(), ["a"]);
});

test("images that were not used for the maximum age go, whatever room there is", async () => {
  const { clock, collector, refs, used } = setUp([image("a", 1), image("b", 1)], {
    highThresholdPercent: 100,
    maxAge: 3_600_000,
  });
  collector.start();
  used.add("a");
  await collector.collect();
  used.delete("a");
  clock.skip(3_500_000);
  await collector.collect();
  assert.deepEqual(refs(), ["a", "b"]);
  used.add("b");
  clock.skip(200_000);
  await collector.collect();
  assert.deepEqual(refs(), ["b"]);
  await collector.stop();
});

test("when the node is short of disk all go that may", async () => {
  const { clock, collector, refs, used } = setUp([image("a", 1), image("b", 1), image("c", 1)], {
    highThresholdPercent: 100,
  });
  used.add("b");
  await collector.collectAll();
  assert.equal(refs().length, 3, "all are young");
  clock.skip(200_000);
  await collector.collectAll();
  assert.deepEqual(refs(), ["b"]);
});

test("the Node shows an image without a name by its digest", async () => {
  const { collector, changes } = setUp([image("sha256:1", 1, { tags: [], digests: [] })]);
  collector.start();
  await eventuallyPasses(() => assert.equal(changes(), 1));
  assert.deepEqual(collector.nodeImages, [{ names: ["sha256:1"], sizeBytes: 1 }]);
  await collector.stop();
});

test("the Node shows the 50 largest, with at most five names each, and hears of changes once", async () => {
  const many = Array.from({ length: 60 }, (_, i) => image(`i${i}`, i));
  const names = ["t1", "t2", "t3", "t4", "t5", "t6"];
  const { collector, clock, changes, images } = setUp([...many, image("big", 1000, { tags: names })]);
  collector.start();
  await eventuallyPasses(() => assert.equal(changes(), 1));
  const shown = collector.nodeImages;
  assert.equal(shown.length, 50);
  assert.deepEqual(shown[0], { names: ["big@sha256:0", "t1", "t2", "t3", "t4"], sizeBytes: 1000 });
  assert.equal(shown[49]?.sizeBytes, 11);
  clock.skip(30_000);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(changes(), 1);
  images.push(image("bigger", 2000));
  await eventuallyPasses(() => {
    clock.skip(30_000);
    assert.equal(changes(), 2);
  });
  await collector.stop();
});

test("repeated failures of collections are reported in an event", async () => {
  const { collector, clock, full, events } = setUp([]);
  full(10n);
  collector.start();
  await eventuallyPasses(() => {
    clock.skip(30_000);
    assert.ok(events.some((event) => event.startsWith("ImageGCFailed: Insufficient")));
  });
  assert.ok(events.filter((event) => event.startsWith("FreeDiskSpaceFailed")).length >= 2);
  await collector.stop();
});

test("an image that a pod has as a volume stays, until the pod is gone", async () => {
  const { clock, collector, refs, full, volumeImages } = setUp([image("data", 500), image("other", 100)]);
  // Missing images and invalid names do not stop the collection.
  volumeImages.push("data:1", "missing:1", "Invalid");
  await collector.collect();
  clock.skip(300_000);
  full(150n);
  await collector.collect();
  assert.deepEqual(refs(), ["data"]);
  volumeImages.length = 0;
  clock.skip(300_000);
  await collector.collect();
  assert.deepEqual(refs(), []);
});
