import { quoted } from "@dray/api";
import type { CertificateSigningRequest } from "@dray/api/certificates/v1";
import type { Node, PersistentVolumeClaim, Pod, Taint } from "@dray/api/core/v1";
import type { ResourceSlice } from "@dray/api/resource/v1";
import { nodeNameOf } from "../authorization/node.ts";
import { parseCertificateRequest } from "../certificates/certificate-request.ts";
import { forbidden, notFound } from "../errors/status.ts";
import { deepEqual } from "../storage/json.ts";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";
import { apiReference } from "./mirror-pod.ts";
import { forbiddenNodeLabels } from "./node-labels.ts";
import { checkPodCertificateRequest } from "./node-pod-certificate.ts";

type Refuse = (why: string) => never;

/**
 * Limits what a node writes to what is about itself (KEP-279 "Limit node access"). Drivers on a node are
 * other users: each brings a ValidatingAdmissionPolicy for its slices (KEP-4381).
 *
 * Upstream: plugin/pkg/admission/noderestriction/admission.go
 */
export function nodeRestriction(context: AdmissionContext): AdmissionPlugin {
  return {
    mutate: (request) => check(context, request),
    validate(request) {
      if (request.operation === "DELETE") check(context, request);
    },
  };
}

function check(context: AdmissionContext, request: AdmissionRequest): void {
  const { storage } = context;
  const resource = `${request.served.group}/${request.served.resource}`;
  const node = nodeNameOf(request.user);
  if (node === undefined) return;
  const refuse: Refuse = (why) => {
    throw forbidden(request.served, request.name, why);
  };
  if (node === "") refuse(`could not determine node from user ${quoted(request.user.name)}`);
  switch (resource) {
    case "/pods":
      checkPod(storage, request, node, refuse);
      return;
    case "/nodes":
      checkNode(request, node, refuse);
      return;
    case "/persistentvolumeclaims":
      checkVolumeClaim(request, node, refuse);
      return;
    case "certificates.k8s.io/certificatesigningrequests":
      checkSigningRequest(request, node, refuse);
      return;
    case "certificates.k8s.io/podcertificaterequests":
      checkPodCertificateRequest(context, request, node, refuse);
      return;
    case "coordination.k8s.io/leases":
      if (request.namespace !== "kube-node-lease") {
        refuse(`can only access leases in the "kube-node-lease" system namespace`);
      }
      if (request.objectName !== node)
        refuse("can only access node lease with the same name as the requesting node");
      return;
    case "storage.k8s.io/csinodes":
      if (request.objectName !== node)
        refuse("can only access CSINode with the same name as the requesting node");
      return;
    case "resource.k8s.io/resourceslices": {
      // The node of a slice is authorized before, and immutable.
      if (request.operation === "UPDATE") return;
      const slice = (request.object ?? request.old) as ResourceSlice;
      if (slice.spec?.nodeName !== node) {
        refuse(
          `can only ${request.operation.toLowerCase()} ResourceSlice with the same NodeName as the requesting node`,
        );
      }
      return;
    }
    default:
      return;
  }
}

/** A node must not attract pods by removing taints or by labels that others trust. */
function checkNode(
  { objectName: name, operation, object, old }: AdmissionRequest,
  node: string,
  refuse: Refuse,
): void {
  if (name !== node) refuse(`node ${quoted(node)} is not allowed to modify node ${quoted(name)}`);
  if (object === undefined) return;
  const after = object as Node;
  const before = old as Node | undefined;
  const labels = forbiddenNodeLabels(after.metadata.labels, before?.metadata.labels).join(", ");
  // A node may read its config source, so it must not choose it.
  const source = after.spec?.configSource ?? null;
  if (operation === "CREATE") {
    // Upstream's message says "pods".
    if (source !== null)
      refuse(`node ${quoted(node)} is not allowed to create pods with a non-nil configSource`);
    // Taints at registration are allowed: they only keep pods away.
    if (labels !== "") refuse(`node ${quoted(node)} is not allowed to set the following labels: ${labels}`);
    return;
  }
  if (source !== null && !deepEqual(source, before?.spec?.configSource ?? null))
    refuse(`node ${quoted(node)} is not allowed to update configSource to a new non-nil configSource`);
  if (!deepEqual(taintsOf(after), taintsOf(before)))
    refuse(`node ${quoted(node)} is not allowed to modify taints`);
  if (!deepEqual(after.metadata.ownerReferences ?? [], before?.metadata.ownerReferences ?? []))
    refuse(`node ${quoted(node)} is not allowed to modify ownerReferences`);
  if (labels !== "") refuse(`is not allowed to modify labels: ${labels}`);
}

/** An absent value and an empty one are the same. */
function taintsOf(node: Node | undefined): Taint[] {
  return (node?.spec?.taints ?? []).map((taint) => ({ ...taint, value: taint.value ?? "" }));
}

/** A node may change only the progress of the expansion of a volume claim. */
function checkVolumeClaim(
  { subresource, operation, object, old }: AdmissionRequest,
  node: string,
  refuse: Refuse,
): void {
  if (subresource !== "status") refuse("may only update PVC status");
  if (operation !== "UPDATE") refuse(`unexpected operation ${quoted(operation)}`);
  const rest = (claim: PersistentVolumeClaim): object => {
    const { resourceVersion: _, managedFields: _fields, ...metadata } = claim.metadata;
    const { capacity, conditions, allocatedResourceStatuses, allocatedResources, ...status } =
      claim.status ?? {};
    return { metadata, spec: claim.spec ?? {}, status };
  };
  if (!deepEqual(rest(object as PersistentVolumeClaim), rest(old as PersistentVolumeClaim))) {
    refuse(
      `node ${quoted(node)} is not allowed to update fields other than status.quantity and status.conditions`,
    );
  }
}

const nodeSigners = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

/** A node asks for certificates in its own name only. */
function checkSigningRequest({ operation, object }: AdmissionRequest, node: string, refuse: Refuse): void {
  if (operation !== "CREATE") return;
  const { spec } = object as CertificateSigningRequest;
  if (!nodeSigners.includes(spec?.signerName)) return;
  const parsed = parseCertificateRequest(spec.request);
  if ("error" in parsed) refuse(`unable to parse csr: ${parsed.error}`);
  else if (parsed.commonName !== `system:node:${node}`)
    refuse(`can only create a node CSR with CN=system:node:${node}`);
}

function checkPod(storage: Storage, request: AdmissionRequest, node: string, refuse: Refuse): void {
  const { operation, subresource } = request;
  const self = `node ${quoted(node)}`;
  const old = request.old as Pod | undefined;
  if (operation === "DELETE") {
    if (old?.spec?.nodeName !== node) refuse(`${self} can only delete pods with spec.nodeName set to itself`);
    return;
  }
  const pod = request.object as Pod;
  if (operation === "CREATE" && subresource === "") {
    checkMirrorPod(storage, pod, node, refuse);
    return;
  }
  if (subresource === "") {
    refuse(`unexpected operation ${quoted(operation)}, ${self} can only create and delete mirror pods`);
  }
  if (subresource === "eviction") {
    const evicted = storage.cache("pods").get(objectKey("pods", request.namespace, request.name));
    if (evicted === undefined) throw notFound({ group: "", resource: "pods" }, request.name);
    if ((evicted.object as Pod).spec?.nodeName !== node)
      refuse(`node ${node} can only evict pods with spec.nodeName set to itself`);
    return;
  }
  if (subresource !== "status") {
    refuse(`unexpected pod subresource ${quoted(subresource)}, only 'status' and 'eviction' are allowed`);
  }
  if (old?.spec?.nodeName !== node)
    refuse(`${self} can only update pod status for pods with spec.nodeName set to itself`);
  if (!deepEqual(old?.metadata.labels ?? {}, pod.metadata.labels ?? {}))
    refuse(`${self} cannot update labels through pod status`);
  // These two determine the claims that a node may read: it must not choose them (KEP-4381, KEP-5004).
  const claims = (one: Pod | undefined) =>
    (one?.status?.resourceClaimStatuses ?? []).map((entry) => [entry.name, entry.resourceClaimName ?? null]);
  // Upstream spells it so.
  if (!deepEqual(claims(old), claims(pod))) refuse(`${self} cannot update resource claim statues`);
  if (
    !deepEqual(
      old?.status?.extendedResourceClaimStatus ?? null,
      pod.status?.extendedResourceClaimStatus ?? null,
    )
  )
    refuse(`${self} cannot update extended resource claim status`);
}

/** A mirror pod represents a static pod: it belongs to its node and refers to no other objects. */
function checkMirrorPod(storage: Storage, pod: Pod, node: string, refuse: Refuse): void {
  const self = `node ${quoted(node)}`;
  const annotation = "kubernetes.io/config.mirror";
  if (pod.metadata.annotations?.[annotation] === undefined)
    refuse(`pod does not have ${quoted(annotation)} annotation, ${self} can only create mirror pods`);
  if (pod.spec?.nodeName !== node) refuse(`${self} can only create pods with spec.nodeName set to itself`);
  const owners = pod.metadata.ownerReferences ?? [];
  if (owners.length > 1) refuse(`${self} can only create pods with a single owner reference set to itself`);
  const owner = owners[0];
  if (owner?.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node)
    refuse(`${self} can only create pods with an owner reference set to itself`);
  if (!owner?.controller)
    refuse(`${self} can only create pods with a controller owner reference set to itself`);
  if (owner?.blockOwnerDeletion) refuse(`${self} must not set blockOwnerDeletion on an owner reference`);
  const own = storage.cache("nodes").get(objectKey("nodes", "", node))?.object;
  if (own === undefined) throw notFound({ group: "", resource: "nodes" }, node);
  const { uid } = own.metadata;
  if (uid !== owner?.uid) refuse(`node ${node} UID mismatch: expected ${owner?.uid} got ${uid}`);
  const what = apiReference(pod);
  if (what !== undefined) refuse(`${self} can not create pods that reference ${what}`);
}
