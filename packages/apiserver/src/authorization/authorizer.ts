import type { Features } from "@dray/api";
import type { Storage } from "../storage/storage.ts";
import type { Attributes, Decision } from "./attributes.ts";
import { nodeAuthorizer } from "./node.ts";
import type { Rbac } from "./rbac.ts";

/** The chain: system:masters may do everything, then nodes, then RBAC. Default deny. */
export function createAuthorizer(
  storage: Storage,
  rbac: Rbac,
  features: Features,
): (attributes: Attributes) => Decision {
  const node = nodeAuthorizer(storage, features);
  return (attributes) => {
    if (attributes.user.groups.includes("system:masters")) return { allowed: true, reason: "" };
    const byNode = node(attributes);
    if (byNode?.allowed) return byNode;
    const byRole = rbac.authorize(attributes);
    if (byRole?.allowed) return byRole;
    const reasons = [byNode?.reason, byRole?.reason].filter((reason) => !!reason);
    return { allowed: false, reason: reasons.join("\n") };
  };
}
