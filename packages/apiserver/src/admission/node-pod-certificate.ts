import { quoted } from "@dray/api";
import type { PodCertificateRequest } from "@dray/api/certificates/v1";
import type { Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { resourceAttributes } from "../authorization/attributes.ts";
import { serverError } from "../errors/status.ts";
import { objectKey } from "../storage/keys.ts";
import type { AdmissionRequest } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

const mirrorAnnotation = "kubernetes.io/config.mirror";

/**
 * A node requests certificates of its own pods only, for signers that they name (KEP-4317). `refuse` throws
 * 403; errors that a stale cache may cause are 500, so that the node retries.
 *
 * Upstream: plugin/pkg/admission/noderestriction/admission.go, admitPodCertificateRequest
 */
export function checkPodCertificateRequest(
  { storage, authorize }: Pick<AdmissionContext, "storage" | "authorize">,
  request: AdmissionRequest,
  node: string,
  refuse: (why: string) => never,
): void {
  const { namespace, operation, subresource, user, served } = request;
  if (operation !== "CREATE") refuse(`unexpected operation ${operation}`);
  if (subresource !== "") refuse(`unexpected subresource ${subresource}`);
  const { spec } = request.object as PodCertificateRequest;
  const { podName, serviceAccountName, signerName } = spec;
  const podKey = quoted(`${namespace}/${podName}`);
  const found = <T>(resource: string, kind: string, where: string, name: string): T => {
    const stored = storage.cache(resource).get(objectKey(resource, where, name));
    if (stored !== undefined) return stored.object as T;
    const shown = quoted(where === "" ? name : `${where}/${name}`);
    const missing = `${resource.slice(0, -1)} ${quoted(name)} not found`;
    throw serverError(`while retrieving ${kind} ${shown} named in the PodCertificateRequest: ${missing}`);
  };
  if (spec.nodeName !== node)
    refuse(
      `PodCertificateRequest.Spec.NodeName=${quoted(spec.nodeName)}, which is not the requesting node ${quoted(node)}`,
    );
  const { uid: nodeUID } = found<Node>("nodes", "node", "", node).metadata;
  if (nodeUID !== spec.nodeUID)
    throw serverError(
      `PodCertificateRequest for pod ${podKey} names node UID ${quoted(spec.nodeUID)}, inconsistent with the running node (${quoted(nodeUID)})`,
    );
  const pod = found<Pod>("pods", "pod", namespace, podName);
  if (spec.podUID !== pod.metadata.uid)
    throw serverError(
      `PodCertificateRequest for pod ${podKey} contains pod UID (${quoted(spec.podUID)}) which differs from running pod ${quoted(pod.metadata.uid)}`,
    );
  if (pod.spec?.nodeName !== node)
    refuse(`pod ${podKey} is not running on node ${quoted(node)} named in the PodCertificateRequest`);
  if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) refuse(`pod ${podKey} is a mirror pod`);
  const ownAccount = pod.spec?.serviceAccountName ?? "";
  if (serviceAccountName !== ownAccount)
    refuse(
      `PodCertificateRequest for pod ${podKey} contains serviceAccountName (${quoted(serviceAccountName)}) that differs from running pod (${quoted(ownAccount)})`,
    );
  const account = found<ServiceAccount>("serviceaccounts", "service account", namespace, serviceAccountName);
  if (spec.serviceAccountUID !== account.metadata.uid)
    throw serverError(
      `PodCertificateRequest for pod ${podKey} names service account UID ${quoted(spec.serviceAccountUID)}, which differs from the running service account (${quoted(account.metadata.uid)})`,
    );
  if (namesSigner(pod, signerName)) return;
  const question = resourceAttributes({
    user,
    verb: "request-serviceaccounts-podcertificate-signer",
    group: served.group,
    version: served.version,
    // RBAC has no resources with a slash in their name.
    resource: signerName.replaceAll("/", ":"),
    namespace,
    name: serviceAccountName,
  });
  if (!authorize(question).allowed)
    refuse(`pod ${podKey} does not mount a podCertificate projected volume for signer ${quoted(signerName)}`);
}

function namesSigner({ spec }: Pod, signerName: string): boolean {
  const sources = spec?.volumes?.flatMap(({ projected }) => projected?.sources ?? []);
  return sources?.some(({ podCertificate }) => podCertificate?.signerName === signerName) ?? false;
}
