import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Node } from "@dray/api/core/v1";
import { type Client, type Clock, type Log, sleep } from "@dray/client";
import { writeFileAtomically } from "@dray/files";
import { type CertificatePair, requestCertificate } from "./request.ts";

export interface ServingOptions {
  /** The client of the node. */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly nodeName: string;
  /** The folder that is the node's `/`. */
  readonly rootDir: string;
}

/** Milliseconds before the first retry, doubled with each one up to the maximum. */
const delays = { first: 1000, max: 5 * 60_000 };

/** Upstream: the folder of --cert-dir, and the kubelet's name of its certificate. */
export const pkiFolder = (rootDir: string): string => join(rootDir, "var/lib/kubelet/pki");
const pairFile = (rootDir: string): string => join(pkiFolder(rootDir), "kubelet-server-current.pem");

/**
 * Maintains a serving certificate of the cluster for the addresses of the Node: passes it, and each successor
 * before it expires, to `use`, until the signal is aborted.
 * Upstream: pkg/kubelet/certificate/kubelet.go (--rotate-server-certificates)
 */
export async function rotateServingCertificate(
  options: ServingOptions,
  use: (pair: CertificatePair) => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, random } = options;
  let delay = delays.first;
  let used: string | undefined;
  while (!signal.aborted) {
    try {
      const names = await namesOf(options);
      const known = readPair(options.rootDir);
      const isGood = known !== undefined && isFor(known, names) && renewalOf(known, 0) > clock.now();
      const pair = isGood ? known : await request(options, names, signal);
      if (pair.cert !== used) use(pair);
      used = pair.cert;
      delay = delays.first;
      await sleep(clock, Math.max(delays.first, renewalOf(pair, random()) - clock.now()), signal);
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error, delay }, "the node has no serving certificate of the cluster yet");
      await sleep(clock, delay, signal);
      delay = Math.min(delay * 2, delays.max);
    }
  }
}

interface Names {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

/** Returns the addresses of the Node; rejects if it has none yet. */
async function namesOf({ client, nodeName }: ServingOptions): Promise<Names> {
  const { status } = await client.resource(Node).get({ name: nodeName });
  const addresses = status?.addresses ?? [];
  const of = (...types: string[]): string[] => [
    ...new Set(addresses.filter(({ type }) => types.includes(type)).map(({ address }) => address)),
  ];
  const names = {
    dnsNames: of("Hostname", "InternalDNS", "ExternalDNS"),
    ipAddresses: of("InternalIP", "ExternalIP"),
  };
  if (names.dnsNames.length + names.ipAddresses.length === 0)
    throw new Error(`the Node ${nodeName} has no addresses yet`);
  return names;
}

async function request(options: ServingOptions, names: Names, signal: AbortSignal): Promise<CertificatePair> {
  const { client, clock, log, nodeName, rootDir } = options;
  const pair = await requestCertificate({
    client,
    clock,
    log,
    signerName: "kubernetes.io/kubelet-serving",
    usage: "server auth",
    names: { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"], ...names },
    keep: join(pkiFolder(rootDir), "kubelet-server.json.tmp"),
    signal,
  });
  await writeFileAtomically(pairFile(rootDir), `${pair.cert}${pair.key}`, { folderMode: 0o700 });
  return pair;
}

/** Returns the certificate of an earlier process, if it is complete. */
function readPair(rootDir: string): CertificatePair | undefined {
  const file = pairFile(rootDir);
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, "utf8");
  const block = (type: string): string =>
    new RegExp(`-----BEGIN ${type}-----[^-]*-----END ${type}-----\n`).exec(text)?.[0] ?? "";
  const pair = { cert: block("CERTIFICATE"), key: block("(?:EC )?PRIVATE KEY") };
  try {
    return new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key)) ? pair : undefined;
  } catch {
    return undefined;
  }
}

function isFor({ cert }: CertificatePair, { dnsNames, ipAddresses }: Names): boolean {
  const certificate = new X509Certificate(cert);
  return (
    dnsNames.every((name) => certificate.checkHost(name) !== undefined) &&
    ipAddresses.every((address) => certificate.checkIP(address) !== undefined)
  );
}

/**
 * Returns when to renew: after 70 to 90 per cent of the lifetime.
 * Upstream: client-go, nextRotationDeadline
 */
function renewalOf({ cert }: CertificatePair, random: number): number {
  const { validFromDate, validToDate } = new X509Certificate(cert);
  const from = validFromDate.getTime();
  return from + (validToDate.getTime() - from) * (0.7 + 0.2 * random);
}
