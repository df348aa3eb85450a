import type { Pod } from "@dray/api/core/v1";
import { maxScore, type Plugin } from "../framework/framework.ts";
import { imagesVersion, type NodeInfo } from "../framework/node-info.ts";

const name = "ImageLocality";
const megabyte = 1024 * 1024;
/** Minimum size in bytes that counts. */
const minSize = 23 * megabyte;
/** More than that of one container does not count. */
const maxContainerSize = 1000 * megabyte;

interface State {
  readonly images: readonly string[];
  /** For each image, the share of all nodes that have it. */
  readonly spread: ReadonlyMap<string, number>;
}

/**
 * Prefers nodes that have the pod's images, by their size; an image that few nodes have counts little, so
 * that its pods do not all go there.
 *
 * Upstream: plugins/imagelocality/image_locality.go. Not as upstream: the size of an image is that which the
 * node itself reports, not that of the node that has reported the image first.
 */
export function imageLocality(): Plugin {
  let known = new Map<string, number>();
  let knownVersion = -1;
  let knownNodes = -1;

  /** The share of nodes that have an image. */
  function spreadOf(image: string, nodes: readonly NodeInfo[]): number {
    if (knownVersion !== imagesVersion() || knownNodes !== nodes.length) {
      known = new Map();
      knownVersion = imagesVersion();
      knownNodes = nodes.length;
    }
    let spread = known.get(image);
    if (spread === undefined) {
      let holders = 0;
      for (const node of nodes) if (node.images.has(image)) holders++;
      spread = nodes.length === 0 ? 0 : holders / nodes.length;
      if (known.size >= maxKnown) known.clear();
      known.set(image, spread);
    }
    return spread;
  }

  return {
    name,
    dependsOnOtherNodes: true,
    preFilter(state, pod, nodes) {
      const images = imagesOf(pod);
      const spread = new Map<string, number>();
      for (const image of images) {
        const share = spreadOf(image, nodes);
        if (share > 0) spread.set(image, share);
      }
      state.set(name, { images, spread } satisfies State);
      // It filters nothing: its scores depend on other nodes.
      return { type: spread.size > 0 ? "continue" : "skip" };
    },
    preScore: (state) => ((state.get(name) as State | undefined)?.spread.size ? undefined : "skip"),
    score(state, _pod, node) {
      const { images, spread } = state.get(name) as State;
      let sum = 0;
      for (const image of images) {
        const size = node.images.get(image);
        if (size !== undefined) sum += Math.trunc(size * (spread.get(image) ?? 0));
      }
      const most = maxContainerSize * images.length;
      const clamped = Math.min(Math.max(sum, minSize), most);
      return Math.trunc((maxScore * (clamped - minSize)) / (most - minSize));
    },
    mayHelp: () => false,
  };
}

/** Maximum number of images whose spread is kept. */
const maxKnown = 1024;

/** The images of containers and of volumes, each as often as it is named, with the tag that is meant. */
function imagesOf({ spec }: Pod): string[] {
  const images = [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map(({ image = "" }) => image);
  for (const { image } of spec.volumes ?? []) if (image !== undefined) images.push(image.reference ?? "");
  return images.map((image) =>
    image.lastIndexOf(":") <= image.lastIndexOf("/") ? `${image}:latest` : image,
  );
}
