import { CertificateSigningRequest } from "@dray/api/certificates/v1";
import {
  type CertificateRequest,
  parseCertificateRequest,
  signCertificateRequest,
} from "@dray/apiserver/pki";
import { timeText } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import {
  clientUsageProblem,
  conditionOf,
  kubeletClientProblem,
  kubeletServingProblem,
  signers,
} from "./requests.ts";

/** The authority that certificates of the cluster are signed with. */
export interface ClusterSigning {
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  /** Maximum validity of a certificate in milliseconds; one year if absent. */
  readonly duration?: number;
}

const defaultDuration = 365 * 24 * 60 * 60_000;
const minDuration = 10 * 60_000;

type Check = (request: CertificateRequest, usages: readonly string[]) => string | undefined;

/** Requests that each signer of Kubernetes refuses. */
const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  [signers.client, (_, usages) => clientUsageProblem(usages)],
  [signers.kubeletClient, kubeletClientProblem],
  [signers.kubeletServing, kubeletServingProblem],
  [signers.legacy, () => undefined],
]);

/**
 * Signs approved CertificateSigningRequests of Kubernetes' own signers.
 *
 * Upstream: pkg/controller/certificates/signer/signer.go.
 */
export async function startCertificateSigner(
  context: ControllerContext,
  signing: ClusterSigning,
): Promise<Controller> {
  const { client, clock, informers } = context;
  const requests = informers.of(CertificateSigningRequest);
  await synced(context, [requests]);
  const queues = controllerQueues(context);
  const queue = queues.queue("certificatesigningrequest-signing", reconcile);
  const changed = (request: CertificateSigningRequest): void => {
    if (checks.has(request.spec.signerName)) queue.add(request.metadata.name);
  };
  requests.handle({ add: changed, update: changed });

  async function reconcile(name: string): Promise<void> {
    const request = requests.get({ name });
    if (request === undefined || request.status?.certificate) return;
    if (!conditionOf(request, "Approved") || conditionOf(request, "Denied") || conditionOf(request, "Failed"))
      return;
    const problem = problemOf(request);
    const status = problem === undefined ? signed(request) : failed(request, problem);
    await client
      .resource(CertificateSigningRequest)
      .update({ ...request, status: { ...request.status, ...status } }, { subresource: "status" });
  }

  function signed({ spec }: CertificateSigningRequest): { certificate: string } {
    const longest = signing.duration ?? defaultDuration;
    const wanted = spec.expirationSeconds === undefined ? longest : spec.expirationSeconds * 1000;
    const certificate = signCertificateRequest(signing, spec.request, {
      usages: spec.usages ?? [],
      duration: Math.min(longest, Math.max(minDuration, wanted)),
      now: clock.now(),
    });
    return { certificate: Buffer.from(certificate).toString("base64") };
  }

  function failed(request: CertificateSigningRequest, message: string): object {
    const condition = {
      type: "Failed",
      status: "True",
      reason: "SignerValidationFailure",
      message,
      lastUpdateTime: timeText(clock.now()),
    };
    return { conditions: [...(request.status?.conditions ?? []), condition] };
  }

  return queues.controller;
}

function problemOf({ spec }: CertificateSigningRequest): string | undefined {
  const parsed = parseCertificateRequest(spec.request);
  if ("error" in parsed) return parsed.error;
  return checks.get(spec.signerName)?.(parsed, spec.usages ?? []);
}
