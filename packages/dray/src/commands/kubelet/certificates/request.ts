import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { StatusError } from "@dray/api";
import { CertificateSigningRequest } from "@dray/api/certificates/v1";
import { createCertificateRequest, type RequestOptions } from "@dray/apiserver/pki";
import { type Client, type Clock, type Log, sleep } from "@dray/client";
import { writeFileAtomically } from "@dray/files";

/** A certificate and its key, both PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateWish {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** `kubernetes.io/kubelet-serving` */
  readonly signerName: string;
  readonly usage: "client auth" | "server auth";
  readonly names: RequestOptions;
  /**
   * The file with the key until the certificate is issued: a restarted process continues the same request.
   */
  readonly keep: string;
  readonly signal: AbortSignal;
}

interface Kept {
  readonly names: string;
  readonly request: string;
  readonly key: string;
}

/**
 * Timeout of a request.
 * Upstream: certificateWaitTimeout of client-go's certificate manager
 */
const certificateTimeout = 15 * 60_000;

/**
 * Requests a certificate from the cluster and resolves when it is issued. Rejects if the request is denied,
 * fails, or is not decided within 15 minutes.
 */
export async function requestCertificate(wish: CertificateWish): Promise<CertificatePair> {
  const { client, log, keep } = wish;
  const { request, key } = await keptRequest(wish);
  const name = `csr-${createHash("sha256").update(request).digest("hex").slice(0, 10)}`;
  const { signerName, usage } = wish;
  try {
    await client.resource(CertificateSigningRequest).create({
      metadata: { name },
      spec: {
        request: Buffer.from(request).toString("base64"),
        signerName,
        usages: ["digital signature", usage],
      },
    });
    log.info({ request: name, signerName }, "asking for a certificate");
  } catch (error) {
    if (!StatusError.is(error, "AlreadyExists")) throw error;
  }
  try {
    return { cert: await issued(wish, name), key };
  } finally {
    // After an issued or denied request the next one is new.
    if (!wish.signal.aborted) rmSync(keep, { force: true });
  }
}

/** Returns the pending request for these names, or creates a new one. */
async function keptRequest({ keep, names }: CertificateWish): Promise<Kept> {
  const wanted = JSON.stringify(names);
  if (existsSync(keep)) {
    try {
      // Written by this program.
      const kept = JSON.parse(readFileSync(keep, "utf8")) as Kept;
      if (kept.names === wanted) return kept;
    } catch (error) {
      // An invalid file of another program is replaced.
      if (!(error instanceof SyntaxError)) throw error;
    }
  }
  const made: Kept = { names: wanted, ...createCertificateRequest(names) };
  await writeFileAtomically(keep, JSON.stringify(made), { folderMode: 0o700 });
  return made;
}

async function issued({ client, clock, signal }: CertificateWish, name: string): Promise<string> {
  const end = new AbortController();
  const until = AbortSignal.any([signal, end.signal]);
  const requests = client.informer(CertificateSigningRequest, { fieldSelector: `metadata.name=${name}` });
  const outcome = (): CertificateSigningRequest | undefined => {
    const request = requests.get({ name });
    return request?.status?.certificate || refusal(request) !== undefined ? request : undefined;
  };
  try {
    await requests.start(until);
    await Promise.race([
      requests.until(() => outcome() !== undefined),
      sleep(clock, certificateTimeout, until),
    ]);
    signal.throwIfAborted();
    const request = outcome();
    const { certificate } = request?.status ?? {};
    if (certificate) return Buffer.from(certificate, "base64").toString();
    throw new Error(
      `the CertificateSigningRequest ${name} ${refusal(request) ?? "is not decided yet: kubectl certificate approve"}`,
    );
  } finally {
    end.abort();
  }
}

function refusal(request: CertificateSigningRequest | undefined): string | undefined {
  for (const { type, reason, message } of request?.status?.conditions ?? [])
    if (type === "Denied" || type === "Failed")
      return `${type === "Denied" ? "was denied" : "has failed"}: ${[reason, message].filter(Boolean).join(": ")}`;
  return undefined;
}
