import { type Features, isInRelease } from "@dray/api";
import type { Storage } from "../storage/storage.ts";
import type { Attributes, Decision } from "./attributes.ts";
import { nodeAuthorizer } from "./node.ts";
import type { Rbac } from "./rbac.ts";

/**
 * Creates the chain: system:masters may do everything, then nodes, then RBAC. Default deny.
 *
 * Upstream: staging/src/k8s.io/apiserver/pkg/authorization/union/union.go; from 1.37 on a reason names its
 * authorizer.
 */
export function createAuthorizer(
  storage: Storage,
  rbac: Rbac,
  features: Features,
): (attributes: Attributes) => Decision {
  const node = nodeAuthorizer(storage, features);
  const named = isInRelease(features.version, { since: "1.37" });
  const reasonOf = (name: string, decision: Decision | undefined): string[] =>
    decision?.reason ? [named ? `${name}: ${decision.reason}` : decision.reason] : [];
  return (attributes) => {
    if (attributes.user.groups.includes("system:masters")) return { allowed: true, reason: "" };
    const byNode = node(attributes);
    if (byNode?.allowed) return byNode;
    const byRole = rbac.authorize(attributes);
    if (byRole?.allowed) return byRole;
    const reasons = [...reasonOf("node", byNode), ...reasonOf("rbac", byRole)];
    return { allowed: false, reason: reasons.join("\n") };
  };
}
