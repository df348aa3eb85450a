import type { Pod } from "@dray/api/core/v1";
import { podRequests } from "@dray/api/pod";
import { isExtendedResourceName } from "@dray/api/validation";
import type { World } from "../manifests/world.ts";
import { didYouMean } from "../text/similar.ts";
import type { Wait } from "./data.ts";
import { type Scene, wait } from "./scene.ts";

/** Prefix under which each class is a resource (KEP-5004). */
const implicit = "deviceclass.resource.kubernetes.io/";
/** Maximum number of listed resources. */
const maxKnown = 10;

/** Returns the extended resources that neither a node nor a DeviceClass offers. */
export function extendedWaits(pod: Pod, { world, features }: Scene): Wait[] {
  if (!world.isReadable("Node") || !world.isReadable("DeviceClass")) return [];
  const asked = [...podRequests(pod)].flatMap(([resource, amount]) =>
    amount.sign > 0 && (resource.startsWith(implicit) || isExtendedResourceName(resource)) ? [resource] : [],
  );
  if (asked.length === 0) return [];
  const ofNodes = new Set(
    world
      .all("Node")
      .flatMap(({ object: { status } }) =>
        Object.entries(status?.allocatable ?? {}).flatMap(([name, amount]) =>
          amount !== "0" && isExtendedResourceName(name) ? [name] : [],
        ),
      ),
  );
  const ofClasses = classResources(world);
  const hasClasses = features.enabled("DRAExtendedResource");
  return asked.flatMap((resource): Wait[] => {
    if (ofNodes.has(resource) || (hasClasses && ofClasses.has(resource))) return [];
    if (ofClasses.has(resource))
      return [
        wait(
          "extended-resource",
          `no node offers ${resource}: DeviceClass ${ofClasses.get(resource)} stands for it, and feature gate DRAExtendedResource is off`,
          { object: `DeviceClass ${ofClasses.get(resource)}` },
        ),
      ];
    const known = [...new Set([...ofNodes, ...(hasClasses ? ofClasses.keys() : [])])];
    return [
      wait(
        "extended-resource",
        `no node offers ${resource}, and no DeviceClass stands for it${knownText(resource, known)}`,
      ),
    ];
  });
}

/** Returns the class of each resource that a class stands for. */
function classResources(world: World): Map<string, string> {
  return new Map(
    world.all("DeviceClass").flatMap(({ object: { metadata, spec } }) => {
      const own = spec.extendedResourceName;
      return [...(own === undefined ? [] : [own]), `${implicit}${metadata.name}`].map(
        (resource) => [resource, metadata.name] as const,
      );
    }),
  );
}

function knownText(resource: string, known: readonly string[]): string {
  if (known.length === 0) return "; no extended resource is offered";
  const rest = known.length > maxKnown ? ` and ${known.length - maxKnown} more` : "";
  const meant = didYouMean(resource, known);
  return ` (offered: ${known.slice(0, maxKnown).join(", ")}${rest})${meant === undefined ? "" : `; ${meant}`}`;
}
