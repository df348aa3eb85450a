import { StatusError } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import { notFound } from "../errors/status.ts";
import { objectKey } from "../storage/keys.ts";
import type { Context } from "./context.ts";

/** Returns the container of this name, or the only container of the pod. Throws 400. */
export function findContainer(pod: Pod, requested: string): string {
  const { name } = pod.metadata;
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const names = [...initContainers, ...containers, ...ephemeralContainers].map((container) => container.name);
  if (requested === "") {
    const [only, ...others] = containers;
    if (only !== undefined && others.length === 0) return only.name;
    throw StatusError.of(
      "BadRequest",
      `a container name must be specified for pod ${name}, choose one of: [${names.join(" ")}]`,
    );
  }
  if (names.includes(requested)) return requested;
  throw StatusError.of("BadRequest", `container ${requested} is not valid for pod ${name}`);
}

/** Returns the node of this name. Throws 404 with the resource of the request, as upstream. */
export function nodeOf({ registry, served }: Context, name: string): Node {
  const node = registry.storage.cache("nodes").get(objectKey("nodes", "", name))?.object;
  if (node === undefined) throw notFound({ group: "", resource: served.resource }, name);
  return node as Node;
}
