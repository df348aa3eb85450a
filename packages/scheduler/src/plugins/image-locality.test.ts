import assert from "node:assert/strict";
import { test } from "node:test";
import { imageLocality } from "./image-locality.ts";
import { nodeInfo, nodeOf, podOf, preFilter, scores } from "./testing/plugins.ts";

/** Upstream: imagelocality/image_locality.go: the formula. */
test("ImageLocality: by size, and by the share of nodes that have the image", () => {
  const mb = 1024 * 1024;
  const images = (...list: [string, number][]) => ({
    status: { images: list.map(([name, size]) => ({ names: [name], sizeBytes: size * mb })) },
  });
  const nodes = [
    nodeInfo("both", images(["big:1", 500], ["small:latest", 40])),
    nodeInfo("small", images(["small:latest", 40])),
    nodeInfo("empty"),
    nodeInfo("huge", images(["big:2", 4000])),
  ];
  const running = (...names: string[]) =>
    podOf({ spec: { containers: names.map((image) => ({ name: image, image })) } });
  const plugin = imageLocality();
  // 500 MB on 1 of 4 nodes is 125, less 23, of 977.
  assert.deepEqual(scores(plugin, running("big:1"), nodes), { both: 10, small: 0, empty: 0, huge: 0 });
  // 40 MB on half of the nodes is too small to count; with it 145 less 23 of 1977.
  assert.deepEqual(scores(plugin, running("big:1", "small"), nodes), {
    both: 6,
    small: 0,
    empty: 0,
    huge: 0,
  });
  assert.deepEqual(scores(plugin, running("big:2"), nodes), { both: 0, small: 0, empty: 0, huge: 100 });
  assert.equal(scores(plugin, running("other"), nodes), undefined);
  // The score of a node depends on others only if one of them has an image of the pod.
  assert.equal(preFilter(plugin, running("other", "big:1"), nodes), "continue");
  assert.equal(preFilter(plugin, running("other"), nodes), "skip");
  // The image goes to another node.
  nodes[2]!.node = nodeOf("empty", images(["big:1", 500]));
  assert.deepEqual(scores(plugin, running("big:1"), nodes), { both: 23, small: 0, empty: 23, huge: 0 });
  const volume = podOf({
    spec: {
      containers: [{ name: "c", image: "x" }],
      volumes: [{ name: "v", image: { reference: "big:1" } }],
    },
  });
  // 250 less 23 of 1977.
  assert.deepEqual(scores(plugin, volume, nodes)?.["both"], 11);
});
