import type { Pod } from "@dray/api/core/v1";
import type { GroupPlacement, Plugin } from "../framework/framework.ts";
import { type GroupNode, leavesOf, topologyKeyOf } from "../framework/group-tree.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import type { PodGroups } from "../podgroup/pod-groups.ts";

/**
 * Where a group says that all its pods have to be in one domain of a topology (a rack, a zone), each domain
 * is a placement; where some of them are on nodes already, only theirs.
 * Upstream: plugins/topologyaware/topology_placement.go
 */
export function topologyPlacement(groups: PodGroups): Plugin {
  return {
    name: "TopologyPlacementGenerator",
    placements(group, parent) {
      const key = topologyKeyOf(group);
      if (key === undefined) return [parent];
      const required = domainOf(key, scheduledPods(groups, group), groups);
      const domains = new Map<string, NodeInfo[]>();
      for (const node of parent.nodes) {
        const domain = node.node.metadata.labels?.[key];
        if (domain === undefined || (required !== undefined && required !== domain)) continue;
        domains.set(domain, [...(domains.get(domain) ?? []), node]);
      }
      return [...domains].map(([name, nodes]): GroupPlacement => ({ name, nodes }));
    },
    mayHelp: () => true,
  };
}

/** The pods of the group that are on a node, or will be. */
export function scheduledPods(groups: PodGroups, group: GroupNode): readonly Pod[] {
  return leavesOf(group).flatMap(({ object }) => groups.placed(object));
}

/**
 * The domain in which all these pods are; undefined without pods. Upstream: getScheduledPodsTopologyDomain.
 */
function domainOf(key: string, pods: readonly Pod[], groups: PodGroups): string | undefined {
  const fail = (text: string): never => {
    throw new Error(`cannot determine domain for already scheduled pods: ${text}`);
  };
  let found: string | undefined;
  for (const { metadata, spec } of pods) {
    const name = `${metadata.namespace}/${metadata.name}`;
    const node = groups.nodeOf(metadata.uid);
    if (node === undefined)
      return fail(`getting node for pod ${name}: nodeinfo not found for node name "${spec.nodeName ?? ""}"`);
    const domain = node.node.metadata.labels?.[key];
    if (domain === undefined) return fail(`no topology domain found for pod ${name}`);
    if (found !== undefined && found !== domain)
      return fail(`more than 1 domain found for pod group: ${found}, ${domain}`);
    found = domain;
  }
  return found;
}
