import { X509Certificate } from "node:crypto";
import { StatusError } from "@dray/api";
import { CertificateSigningRequest } from "@dray/api/certificates/v1";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { conditionOf } from "./requests.ts";

const hour = 60 * 60_000;

/**
 * Deletes CertificateSigningRequests that are no longer needed: an hour after they were signed, denied or
 * failed, a day after they were made or approved and nothing came of it, and when their certificate has
 * expired.
 *
 * Upstream: pkg/controller/certificates/cleaner/cleaner.go, which looks once an hour.
 */
export async function startCertificateRequestCleaner(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const requests = informers.of(CertificateSigningRequest);
  await synced(context, [requests]);
  const queues = controllerQueues(context);
  const queue = queues.queue("certificatesigningrequest-cleaner", reconcile);
  const changed = ({ metadata }: CertificateSigningRequest): void => queue.add(metadata.name);
  requests.handle({ add: changed, update: changed });

  async function reconcile(name: string): Promise<void> {
    const request = requests.get({ name });
    if (request === undefined) return;
    const end = endOf(request);
    if (end === undefined) return;
    if (clock.now() <= end) return queue.addAfter(name, end - clock.now() + 1);
    const { uid } = request.metadata;
    try {
      await client.resource(CertificateSigningRequest).delete({ name }, { preconditions: { uid } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
  }

  return queues.controller;
}

/** Milliseconds since the epoch after which the request goes. */
function endOf(request: CertificateSigningRequest): number | undefined {
  const { metadata, status } = request;
  const certificate = status?.certificate;
  const since = (type: "Approved" | "Denied" | "Failed", wait: number): number[] => {
    const time = conditionOf(request, type)?.lastUpdateTime;
    return time === undefined ? [] : [Date.parse(time) + wait];
  };
  const ends = [
    ...since("Denied", hour),
    ...since("Failed", hour),
    ...since("Approved", certificate ? hour : 24 * hour),
    ...((status?.conditions ?? []).length === 0 ? [Date.parse(metadata.creationTimestamp) + 24 * hour] : []),
    ...(certificate && conditionOf(request, "Approved") ? expiryOf(certificate) : []),
  ];
  return ends.length === 0 ? undefined : ends.reduce((a, b) => Math.min(a, b));
}

function expiryOf(certificate: string): number[] {
  try {
    return [new X509Certificate(Buffer.from(certificate, "base64")).validToDate.getTime()];
  } catch {
    return [];
  }
}
