import { CertificateSigningRequest } from "@dray/api/certificates/v1";
import { Node, Service } from "@dray/api/core/v1";
import { EndpointSlice } from "@dray/api/discovery/v1";
import { addressText, parseSloppyAddress, unmapped } from "@dray/api/ip";
import { type CertificateRequest, parseCertificateRequest } from "@dray/apiserver/pki";
import { isAllowed, keyOf } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import type { Informers } from "../shared/informers.ts";
import { conditionOf, kubeletClientProblem, kubeletServingProblem, nodePrefix, signers } from "./requests.ts";

/**
 * A kind of request that is approved if its user may create this subresource of certificatesigningrequests.
 */
interface Recognizer {
  readonly subresource: string;
  readonly message: string;
  recognizes(request: CertificateSigningRequest, parsed: CertificateRequest): boolean;
}

const isKubeletClient = ({ spec }: CertificateSigningRequest, parsed: CertificateRequest): boolean =>
  spec.signerName === signers.kubeletClient && kubeletClientProblem(parsed, spec.usages ?? []) === undefined;
const isOwn = ({ spec }: CertificateSigningRequest, { commonName }: CertificateRequest): boolean =>
  spec.username === commonName;

/**
 * Approves the certificates of kubelets: those of clients as upstream does; those of servers, which upstream
 * leaves to people, if a node requests only addresses that its Node has and no other object has.
 *
 * Upstream: pkg/controller/certificates/approver/sarapprove.go.
 */
export async function startCertificateApprover(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const requests = informers.of(CertificateSigningRequest);
  const nodes = informers.of(Node);
  await synced(context, [requests, nodes, informers.of(Service), informers.of(EndpointSlice)]);
  const recognizers: readonly Recognizer[] = [
    {
      subresource: "selfnodeclient",
      message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
      recognizes: (request, parsed) => isOwn(request, parsed) && isKubeletClient(request, parsed),
    },
    {
      subresource: "nodeclient",
      message: "Auto approving kubelet client certificate after SubjectAccessReview.",
      recognizes: isKubeletClient,
    },
    {
      subresource: "selfnodeserver",
      message: "Auto approving self kubelet server certificate after SubjectAccessReview.",
      recognizes: (request, parsed) =>
        isOwn(request, parsed) &&
        request.spec.signerName === signers.kubeletServing &&
        kubeletServingProblem(parsed, request.spec.usages ?? []) === undefined &&
        hasNamesOf(nodes.get({ name: parsed.commonName.slice(nodePrefix.length) }), parsed, (text, own) =>
          isForeign(informers, text, own),
        ),
    },
  ];
  const queues = controllerQueues(context);
  const queue = queues.queue("certificatesigningrequest-approving", reconcile);
  const changed = (request: CertificateSigningRequest): void => {
    if (isPending(request)) queue.add(request.metadata.name);
  };
  requests.handle({ add: changed, update: changed });
  // A node may ask before its addresses are known.
  const nodeChanged = ({ metadata }: Node): void => {
    for (const request of requests.list())
      if (request.spec.username === `${nodePrefix}${metadata.name}`) changed(request);
  };
  nodes.handle({
    add: nodeChanged,
    update(node, old) {
      if (addressesOf(node).join() !== addressesOf(old).join()) nodeChanged(node);
    },
  });

  async function reconcile(name: string): Promise<void> {
    const request = requests.get({ name });
    if (request === undefined || !isPending(request)) return;
    const parsed = parseCertificateRequest(request.spec.request);
    if ("error" in parsed) return;
    const matching = recognizers.filter((recognizer) => recognizer.recognizes(request, parsed));
    const { username = "", uid, groups = [], extra } = request.spec;
    const user = { username, groups, ...(uid && { uid }), ...(extra && { extra }) };
    for (const { subresource, message } of matching) {
      const resourceAttributes = {
        group: "certificates.k8s.io",
        version: "*",
        resource: "certificatesigningrequests",
        subresource,
        verb: "create",
      };
      if (!(await isAllowed(client, user, { resourceAttributes }))) continue;
      const condition = { type: "Approved", status: "True", reason: "AutoApproved", message };
      const conditions = [...(request.status?.conditions ?? []), condition];
      await client
        .resource(CertificateSigningRequest)
        .update({ ...request, status: { ...request.status, conditions } }, { subresource: "approval" });
      return;
    }
    // Rights may be given later: as upstream, with the back-off of the queue.
    if (matching.length > 0) queue.addRateLimited(name);
  }

  return queues.controller;
}

/**
 * Reports whether a name or address is another node's, a Service's or the API server's: a node writes its own
 * names and addresses, and all clients of the cluster trust the authority. A loopback address has no other
 * owner.
 */
function isForeign(informers: Informers, text: string, own: string): boolean {
  if (/^(localhost|kubernetes|.*\.svc|.*\.svc\..*|kubernetes\..*|.*\.cluster\.local)$/i.test(text))
    return true;
  if (/^(127\.|::1$)/.test(text)) return false;
  const servers = informers
    .of(EndpointSlice)
    .byIndex("service", keyOf({ namespace: "default", name: "kubernetes" }));
  return (
    informers
      .of(Node)
      .list()
      .some((node) => node.metadata.name !== own && addressesOf(node).includes(text)) ||
    informers
      .of(Service)
      .list()
      .some(({ spec }) => [spec?.clusterIP, ...(spec?.clusterIPs ?? [])].includes(text)) ||
    servers.some(({ endpoints }) => (endpoints ?? []).some(({ addresses }) => addresses.includes(text)))
  );
}

function isPending(request: CertificateSigningRequest): boolean {
  return !request.status?.certificate && !conditionOf(request, "Approved") && !conditionOf(request, "Denied");
}

function addressesOf({ metadata, status }: Node): string[] {
  return [metadata.name, ...(status?.addresses ?? []).map(({ address }) => plain(address))];
}

/** Reports whether the certificate would be for nothing but names and addresses of the node. */
function hasNamesOf(
  node: Node | undefined,
  { alternativeNames }: CertificateRequest,
  isForeign: (text: string, own: string) => boolean,
): boolean {
  if (node === undefined) return false;
  const known = addressesOf(node);
  return alternativeNames.every(
    ({ type, text }) =>
      (type === "dns" || type === "ip") &&
      known.includes(plain(text)) &&
      !isForeign(plain(text), node.metadata.name),
  );
}

/** An address in its canonical form, another name as it is. */
function plain(text: string): string {
  const address = parseSloppyAddress(text);
  return address === undefined ? text : addressText(unmapped(address));
}
