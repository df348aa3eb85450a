import { type Features, parseFieldSelector, quoted, SelectorError } from "@dray/api";
import type { PolicyRule } from "@dray/api/rbac/v1";
import type { Storage } from "../storage/storage.ts";
import type { Attributes, Authorizer, Decision } from "./attributes.ts";
import { bootstrapRoles } from "./bootstrap-policy.ts";
import { NodeGraph } from "./node-graph.ts";
import { ruleAllows } from "./rules.ts";

const prefix = "system:node:";
export const nodesGroup = "system:nodes";

/** Returns the name of the node of a user; undefined for users that are not nodes. */
export function nodeNameOf(user: {
  readonly name: string;
  readonly groups: readonly string[];
}): string | undefined {
  return user.name.startsWith(prefix) && user.groups.includes(nodesGroup)
    ? user.name.slice(prefix.length)
    : undefined;
}

/**
 * Returns the rights of nodes that do not depend on the object: the rules of the cluster role `system:node`.
 */
function nodeRulesOf(features: Features): readonly PolicyRule[] {
  const roles = bootstrapRoles(new Set(), (gate) => features.enabled(gate));
  return roles.find(({ metadata }) => metadata.name === "system:node")?.rules ?? [];
}

/**
 * Node authorization: a node reads only objects that its own pods refer to, directly or through their volume
 * claims and volumes, and writes only objects about itself (KEP-279, KEP-4601). No opinion on other users.
 */
export function nodeAuthorizer(storage: Storage, features: Features): Authorizer {
  const nodeRules = nodeRulesOf(features);
  const graph = new NodeGraph(storage);
  return (attributes) => {
    const node = nodeNameOf(attributes.user);
    if (node === undefined) return undefined;
    if (node === "") return deny(`unknown node for user ${quoted(attributes.user.name)}`);
    const rule = attributes.isResource ? rules[`${attributes.group}/${attributes.resource}`] : undefined;
    if (rule !== undefined) return rule(attributes, node, graph);
    return nodeRules.some((each) => ruleAllows(each, attributes)) ? allow : undefined;
  };
}

const allow: Decision = { allowed: true, reason: "" };
const deny = (reason: string): Decision => ({ allowed: false, reason });

type Rule = (attributes: Attributes, node: string, graph: NodeGraph) => Decision | undefined;

/** Allows access to objects that a pod of the node needs. */
const related: Rule = ({ group, resource, namespace, name }, node, graph) => {
  if (name === "") return deny("No Object name found");
  if (graph.has(node, `${group}/${resource}`, namespace, name)) return allow;
  return deny(`no relationship found between node '${node}' and this object`);
};

const getRelated: Rule = (attributes, node, graph) => {
  if (attributes.verb !== "get") return deny("can only get individual resources of this type");
  if (attributes.subresource !== "") return deny("cannot get subresource");
  return related(attributes, node, graph);
};

const readRelated: Rule = (attributes, node, graph) => {
  const { verb, subresource, namespace } = attributes;
  if (verb !== "get" && verb !== "list" && verb !== "watch")
    return deny("can only read resources of this type");
  if (subresource !== "") return deny("cannot read subresource");
  if (namespace === "") return deny("can only read namespaced object of this type");
  return related(attributes, node, graph);
};

const ownVerbs = new Set(["get", "create", "update", "patch", "delete"]);

/** By `group/resource`; other resources follow the general rules of nodes. */
const rules: Readonly<Record<string, Rule | undefined>> = {
  "/secrets": readRelated,
  "/configmaps": readRelated,
  "/persistentvolumes": getRelated,
  "resource.k8s.io/resourceclaims": getRelated,
  "storage.k8s.io/volumeattachments": getRelated,
  "/persistentvolumeclaims": (attributes, node, graph) => {
    if (attributes.subresource !== "status") return getRelated(attributes, node, graph);
    if (attributes.verb !== "update" && attributes.verb !== "patch")
      return deny("can only get/update/patch this type");
    return related(attributes, node, graph);
  },
  "/serviceaccounts": (attributes, node, graph) => {
    const { verb, subresource, name } = attributes;
    if (verb === "get" && subresource === "") return readRelated(attributes, node, graph);
    if (verb !== "create" || name === "")
      return deny("can only create tokens for individual service accounts");
    if (subresource !== "token") return deny("can only create token subresource of serviceaccount");
    return related(attributes, node, graph);
  },
  "coordination.k8s.io/leases": ({ verb, namespace, name }, node) => {
    if (!ownVerbs.has(verb)) return deny("can only get, create, update, patch, or delete a node lease");
    if (namespace !== "kube-node-lease")
      return deny(`can only access leases in the "kube-node-lease" system namespace`);
    if (verb !== "create" && name !== node)
      return deny("can only access node lease with the same name as the requesting node");
    return allow;
  },
  "storage.k8s.io/csinodes": ({ verb, subresource, name }, node) => {
    if (!ownVerbs.has(verb)) return deny("can only get, create, update, patch, or delete a CSINode");
    if (subresource !== "") return deny("cannot authorize CSINode subresources");
    if (verb !== "create" && name !== node)
      return deny("can only access CSINode with the same name as the requesting node");
    return allow;
  },
  "resource.k8s.io/resourceslices": (attributes, node, graph) => {
    const { verb, subresource } = attributes;
    if (subresource !== "") return deny("cannot authorize ResourceSlice subresources");
    // Admission sees the object and checks its node name.
    if (verb === "create") return allow;
    if (ownVerbs.has(verb)) return related(attributes, node, graph);
    if (verb !== "list" && verb !== "watch" && verb !== "deletecollection") {
      return deny(
        "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
      );
    }
    if (selects(attributes, "spec.nodeName", node)) return allow;
    return deny("can only list/watch/deletecollection resourceslices with nodeName field selector");
  },
  "/nodes": ({ verb, subresource, name }, node) => {
    if (subresource === "status") return verb === "update" || verb === "patch" ? allow : deny("");
    if (subresource !== "") return deny("");
    if (verb === "create" || verb === "update" || verb === "patch") return allow;
    if (verb !== "get" && verb !== "list" && verb !== "watch") return deny("");
    if (name === node) return allow;
    const what = name === "" ? "all nodes" : `'${name}'`;
    return deny(`node '${node}' cannot read ${what}, only its own Node object`);
  },
  "/pods": (attributes, node, graph) => {
    const { verb, subresource, name } = attributes;
    if (subresource === "status") return verb === "update" || verb === "patch" ? allow : deny("");
    if (subresource === "eviction") return verb === "create" ? allow : deny("");
    if (subresource !== "") return deny("");
    if (verb === "create" || verb === "delete") return allow;
    if (verb === "get") return related(attributes, node, graph);
    if (verb !== "list" && verb !== "watch") return deny("");
    if (selects(attributes, "spec.nodeName", node)) return allow;
    if (name !== "") return related(attributes, node, graph);
    return deny("can only list/watch pods with spec.nodeName field selector");
  },
  "certificates.k8s.io/podcertificaterequests": (attributes, node, graph) => {
    const { verb, subresource } = attributes;
    if (subresource !== "")
      return deny("nodes may not access the status subresource of PodCertificateRequests");
    if (verb === "create") return allow;
    if (verb === "get") return related(attributes, node, graph);
    if (verb !== "list" && verb !== "watch") return deny(`nodes may not ${verb} podcertificaterequests`);
    if (selects(attributes, "spec.nodeName", node)) return allow;
    return deny("can only list/watch podcertificaterequests with nodeName field selector");
  },
};

/** Reports whether the field selector requires this value of a field. */
function selects({ fieldSelector }: Attributes, field: string, value: string): boolean {
  if (!fieldSelector) return false;
  try {
    return parseFieldSelector(fieldSelector).requirements.some(
      (term) => term.field === field && term.operator === "=" && term.value === value,
    );
  } catch (error) {
    // An invalid selector requires nothing.
    if (error instanceof SelectorError) return false;
    throw error;
  }
}
