import type { KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ResourceSlice } from "@dray/api/resource/v1";
import type { Storage } from "../storage/storage.ts";
import type { Attributes, Authorizer, Decision } from "./attributes.ts";

const prefix = "system:node:";
export const nodesGroup = "system:nodes";

/** The node that a user is, undefined for everybody else. */
export function nodeNameOf(user: {
  readonly name: string;
  readonly groups: readonly string[];
}): string | undefined {
  return user.name.startsWith(prefix) && user.groups.includes(nodesGroup)
    ? user.name.slice(prefix.length)
    : undefined;
}

/** What every node may do, whichever objects it concerns: verbs by `group/resource[/subresource]`. */
const nodeRules: Readonly<Record<string, readonly string[]>> = {
  "authentication.k8s.io/tokenreviews": ["create"],
  "authorization.k8s.io/subjectaccessreviews": ["create"],
  "authorization.k8s.io/localsubjectaccessreviews": ["create"],
  "/services": ["get", "list", "watch"],
  "/nodes": ["create", "update", "patch", "delete"],
  "/nodes/status": ["patch", "update"],
  "/events": ["create", "patch", "update"],
  "events.k8s.io/events": ["create", "patch", "update"],
  "/pods": ["create", "delete"],
  "/pods/status": ["patch", "update"],
  "/pods/eviction": ["create"],
  "/persistentvolumeclaims/status": ["get", "update", "patch"],
  "certificates.k8s.io/certificatesigningrequests": ["create", "get", "list", "watch"],
  "certificates.k8s.io/clustertrustbundles": ["get", "list", "watch"],
  "storage.k8s.io/csidrivers": ["get", "list", "watch"],
  "node.k8s.io/runtimeclasses": ["get", "list", "watch"],
  "networking.k8s.io/servicecidrs": ["get", "list", "watch"],
};

/**
 * Node authorization: a node reads only what its own pods refer to, and writes only what is about itself
 * (reference/control-plane.md, section 2). It has no opinion on other users.
 */
export function nodeAuthorizer(storage: Storage): Authorizer {
  const references = new PodReferences(storage);
  return (attributes) => {
    const node = nodeNameOf(attributes.user);
    if (node === undefined || !attributes.isResource) return undefined;
    return decide(attributes, node, references, storage);
  };
}

const allow: Decision = { allowed: true, reason: "" };
const deny = (reason: string): Decision => ({ allowed: false, reason });

function decide(
  attributes: Attributes,
  node: string,
  references: PodReferences,
  storage: Storage,
): Decision | undefined {
  const { verb, resource, subresource, namespace, name } = attributes;
  const key = `${attributes.group}/${resource}`;
  const unrelated = deny(`no relationship found between node '${node}' and this object`);
  switch (key) {
    case "/secrets":
    case "/configmaps": {
      if (subresource !== "") return deny("cannot read subresource");
      if (verb !== "get" && verb !== "list" && verb !== "watch")
        return deny(`can only read resources of this type`);
      if (name === "") return deny(`No Object name found`);
      return references.has(node, resource, namespace, name) ? allow : unrelated;
    }
    case "/persistentvolumeclaims":
      if (subresource === "status") break;
      if (verb !== "get" || subresource !== "") return deny("can only get individual resources of this type");
      return references.has(node, resource, namespace, name) ? allow : unrelated;
    case "resource.k8s.io/resourceclaims":
      if (verb !== "get" || subresource !== "") return deny("can only get individual resources of this type");
      if (name === "") return deny("No Object name found");
      return references.has(node, resource, namespace, name) ? allow : unrelated;
    case "/serviceaccounts":
      if (subresource === "token") {
        if (verb !== "create" || name === "")
          return deny("can only create tokens for individual service accounts");
        return references.has(node, resource, namespace, name) ? allow : unrelated;
      }
      if (verb !== "get" || subresource !== "") return deny("can only get individual resources of this type");
      return references.has(node, resource, namespace, name) ? allow : unrelated;
    case "coordination.k8s.io/leases":
      if (subresource !== "" || !["get", "create", "update", "patch", "delete"].includes(verb)) {
        return deny("can only get, create, update, patch, or delete a node lease");
      }
      if (namespace !== "kube-node-lease")
        return deny(`can only access leases in the "kube-node-lease" system namespace`);
      if (verb !== "create" && name !== node)
        return deny("can only access node lease with the same name as the requesting node");
      return allow;
    case "storage.k8s.io/csinodes":
      if (subresource !== "" || !["get", "create", "update", "patch", "delete"].includes(verb)) {
        return deny("can only get, create, update, patch, or delete a CSINode");
      }
      if (verb !== "create" && name !== node)
        return deny("can only access CSINode with the same name as the requesting node");
      return allow;
    case "resource.k8s.io/resourceslices":
      return decideSlice(attributes, node, storage);
    case "/nodes":
      if (verb === "get" || verb === "list" || verb === "watch") {
        if (subresource !== "") break;
        if (verb === "get" && name === node) return allow;
        if (verb !== "get" && name === node) return allow;
        if (name !== "") return deny(`node '${node}' cannot read '${name}', only its own Node object`);
        return deny(`node '${node}' cannot read all nodes, only its own Node object`);
      }
      break;
    case "/pods":
      if (subresource === "" && (verb === "list" || verb === "watch")) {
        const wanted = selectedValue(attributes.fieldSelector, "spec.nodeName");
        if (wanted === node) return allow;
        return deny("can only list/watch pods with spec.nodeName field selector");
      }
      if (subresource === "" && verb === "get") {
        const pod = storage.cache("pods").get(`/registry/pods/${namespace}/${name}`)?.object as
          | Pod
          | undefined;
        return pod?.spec?.nodeName === node ? allow : unrelated;
      }
      break;
  }
  const whole = subresource === "" ? key : `${key}/${subresource}`;
  return nodeRules[whole]?.includes(verb) ? allow : undefined;
}

function decideSlice(attributes: Attributes, node: string, storage: Storage): Decision {
  const { verb, subresource, name } = attributes;
  if (subresource !== "") return deny("cannot access subresources of this type");
  switch (verb) {
    case "create":
      // Admission sees the object and checks its node name.
      return allow;
    case "get":
    case "update":
    case "patch":
    case "delete": {
      const slice = storage.cache("resourceslices").get(`/registry/resourceslices/${name}`)?.object;
      const own = (slice as ResourceSlice | undefined)?.spec?.nodeName === node;
      return own ? allow : deny(`no relationship found between node '${node}' and this object`);
    }
    case "list":
    case "watch":
    case "deletecollection":
      return selectedValue(attributes.fieldSelector, "spec.nodeName") === node
        ? allow
        : deny("can only list/watch/deletecollection resourceslices with spec.nodeName field selector");
    default:
      return deny(
        "only the following verbs are allowed: get, list, watch, create, update, patch, delete, deletecollection",
      );
  }
}

/** The value that a field selector demands of a field. */
function selectedValue(selector: string | undefined, field: string): string | undefined {
  for (const term of (selector ?? "").split(",")) {
    const match = /^([^=!]+)={1,2}(.*)$/.exec(term);
    if (match?.[1] === field) return match[2];
  }
  return undefined;
}

/** Which objects the pods of each node refer to; kept up to date from the events of pods. */
class PodReferences {
  /** `node|resource|namespace/name` with the number of pods that refer to it. */
  readonly #counts = new Map<string, number>();

  constructor(storage: Storage) {
    const pods = storage.cache("pods");
    for (const { object } of pods.range(pods.prefix)) this.#add(object, 1);
    pods.subscribe((event) => {
      if (event.previous) this.#add(event.previous, -1);
      if (event.type !== "DELETED") this.#add(event.object, 1);
    });
  }

  has(node: string, resource: string, namespace: string, name: string): boolean {
    return this.#counts.has(`${node}|${resource}|${namespace}/${name}`);
  }

  #add(object: KubeObject, by: 1 | -1): void {
    const pod = object as Pod;
    const node = pod.spec?.nodeName;
    if (!node) return;
    for (const [resource, name] of podReferences(pod)) {
      const key = `${node}|${resource}|${pod.metadata.namespace}/${name}`;
      const count = (this.#counts.get(key) ?? 0) + by;
      if (count > 0) this.#counts.set(key, count);
      else this.#counts.delete(key);
    }
  }
}

/** Resource and name of everything in its namespace that a pod's node must be able to read. */
export function* podReferences(pod: Pod): Generator<[resource: string, name: string]> {
  const { spec, status } = pod;
  if (!spec) return;
  if (spec.serviceAccountName) yield ["serviceaccounts", spec.serviceAccountName];
  for (const secret of spec.imagePullSecrets ?? []) if (secret.name) yield ["secrets", secret.name];
  for (const claim of spec.resourceClaims ?? []) {
    if (claim.resourceClaimName) yield ["resourceclaims", claim.resourceClaimName];
    const made = status?.resourceClaimStatuses?.find((entry) => entry.name === claim.name);
    if (claim.resourceClaimTemplateName && made?.resourceClaimName) {
      yield ["resourceclaims", made.resourceClaimName];
    }
  }
  const extended = status?.extendedResourceClaimStatus?.resourceClaimName;
  if (extended) yield ["resourceclaims", extended];
  const containers = [
    ...(spec.containers ?? []),
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  for (const container of containers) {
    for (const source of container.envFrom ?? []) {
      if (source.secretRef?.name) yield ["secrets", source.secretRef.name];
      if (source.configMapRef?.name) yield ["configmaps", source.configMapRef.name];
    }
    for (const variable of container.env ?? []) {
      const from = variable.valueFrom;
      if (from?.secretKeyRef?.name) yield ["secrets", from.secretKeyRef.name];
      if (from?.configMapKeyRef?.name) yield ["configmaps", from.configMapKeyRef.name];
    }
  }
  for (const volume of spec.volumes ?? []) {
    if (volume.secret?.secretName) yield ["secrets", volume.secret.secretName];
    if (volume.configMap?.name) yield ["configmaps", volume.configMap.name];
    if (volume.persistentVolumeClaim)
      yield ["persistentvolumeclaims", volume.persistentVolumeClaim.claimName];
    for (const source of volume.projected?.sources ?? []) {
      if (source.secret?.name) yield ["secrets", source.secret.name];
      if (source.configMap?.name) yield ["configmaps", source.configMap.name];
    }
  }
}
