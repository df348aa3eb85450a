import type { Node } from "@dray/api/core/v1";
import type { ResourceSlice } from "@dray/api/resource/v1";
import { uidOf } from "../manifests/decode.ts";
import type { Located } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";

const hostname = "kubernetes.io/hostname";

/** Returns copies of a node with its slices: empty and ready new nodes with new names. */
export function copiesOf(world: World, like: string, count: number): Located<Node | ResourceSlice>[] {
  const located = world.all("Node").find(({ object }) => object.metadata.name === like);
  if (located === undefined) throw new Error(`there is no Node ${like} to copy`);
  const { object: node, place } = located;
  const slices = slicesOf(world, like);
  const copies: Located<Node | ResourceSlice>[] = [];
  for (let i = 1, made = 0; made < count; i++) {
    const name = `${like}-copy-${i}`;
    if (world.find("Node", name) !== undefined) continue;
    made++;
    copies.push({ object: copyNode(node, name), place });
    copies.push(
      ...slices.map((slice) => ({ ...slice, object: copySlice(slice.object, like, name, slices) })),
    );
  }
  return copies;
}

/** Returns the slices that only this node can reach, of the newest generation of their pools. */
function slicesOf(world: World, like: string): Located<ResourceSlice>[] {
  const own = world.slicesOf(like);
  return own.filter(({ object: { spec } }) =>
    own.every(
      ({ object: { spec: other } }) =>
        other.driver !== spec.driver ||
        other.pool.name !== spec.pool.name ||
        other.pool.generation <= spec.pool.generation,
    ),
  );
}

/** Reports whether a taint is for a condition of the node, rather than for its purpose. */
const isCondition = (key: string): boolean => key.startsWith("node.kubernetes.io/");

function copyNode(node: Node, name: string): Node {
  const { providerID: _p, unschedulable: _u, podCIDR: _c, podCIDRs: _d, taints, ...spec } = node.spec;
  const { labels } = node.metadata;
  const kept = taints?.filter(({ key }) => !isCondition(key));
  return {
    ...node,
    metadata: {
      ...node.metadata,
      name,
      uid: uidOf("Node", undefined, name),
      ...(labels && { labels: labels[hostname] === undefined ? labels : { ...labels, [hostname]: name } }),
    },
    spec: { ...spec, ...(kept !== undefined && kept.length > 0 && { taints: kept }) },
  };
}

const renamed = (text: string, like: string, name: string): string =>
  text.includes(like) ? text.replaceAll(like, name) : `${text}-${name}`;

function copySlice(
  slice: ResourceSlice,
  like: string,
  name: string,
  all: readonly Located<ResourceSlice>[],
): ResourceSlice {
  const { metadata, spec } = slice;
  const sliceName = renamed(metadata.name, like, name);
  const together = all.filter(
    ({ object }) => object.spec.driver === spec.driver && object.spec.pool.name === spec.pool.name,
  );
  return {
    ...slice,
    metadata: { ...metadata, name: sliceName, uid: uidOf("ResourceSlice", undefined, sliceName) },
    spec: {
      ...spec,
      nodeName: name,
      pool: {
        ...spec.pool,
        name: renamed(spec.pool.name, like, name),
        resourceSliceCount: together.length,
      },
    },
  };
}
