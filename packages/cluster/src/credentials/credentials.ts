import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Certificate,
  type CertificateOptions,
  createAuthority,
  createSigningKey,
  issueCertificate,
  withKeyForm,
} from "@dray/apiserver/pki";
import { writeKubeconfig } from "@dray/client";
import { type NewFile, writeFilesAtomicallySync } from "@dray/files";
import type { Layout } from "../data-dir/layout.ts";
import { plainAddress, type ServerAddresses, serverAddresses } from "../network/address.ts";
import { contextName, writeOwnKubeconfig } from "./kubeconfigs.ts";
import { minValidity, Renewals } from "./renewals.ts";

/** Credentials of the components of a cluster; kept in `pki/` of the data directory. */
export interface Credentials {
  readonly authority: Certificate;
  /** The API server, at its address on this machine. */
  readonly server: Certificate;
  /** The administrator, in group system:masters. */
  readonly admin: Certificate;
  /** The API server, as a client of the agents. */
  readonly kubeletClient: Certificate;
  /** Signs the certificates of front proxies, which may name any user: an authority of its own. */
  readonly frontProxyAuthority: Certificate;
  /** The API server, as a front proxy of API servers behind it. */
  readonly frontProxyClient: Certificate;
  /** The simulated drivers, as a user of that name. */
  readonly drivers: Certificate;
  /** Client and server credentials of the simulation of whole nodes. */
  readonly simulatedNodes: { readonly client: Certificate; readonly server: Certificate };
  /** Credentials of the service proxy, as of upstream's kube-proxy. */
  readonly proxy: Certificate;
  /** Private key that signs the tokens of service accounts, PEM. */
  readonly serviceAccountKey: string;
  /** For each node: the agent as a client, and as a server. */
  readonly nodes: ReadonlyMap<string, { readonly client: Certificate; readonly server: Certificate }>;
}

/** The user that the simulated drivers of a fleet are. */
export const driversUser = "dray:simulated-drivers";

/** Common name of the front proxy's certificate, as kubeadm has it. */
export const frontProxyName = "front-proxy-client";

/** The user that simulates whole nodes. */
export const simulatedNodesUser = "dray:simulated-nodes";

export interface CredentialOptions {
  /** Addresses of the API server; default: those of the loopback interface. */
  readonly addresses?: Pick<ServerAddresses, "ipAddresses" | "dnsNames">;
  /** Addresses of nodes with networks of their own, by name; the others are at the loopback address. */
  readonly nodeAddresses?: ReadonlyMap<string, string>;
  /** Receives a sentence about certificates that are issued anew because of the time. */
  readonly onRenewed?: (text: string) => void;
}

/**
 * Reads the credentials of a cluster, and makes those that are missing, that are not valid yet or end soon,
 * or that are not for these addresses; `now` in milliseconds since the epoch. An authority
 * is renewed with its key, so that what it has issued stays valid.
 */
export async function ensureCredentials(
  layout: Layout,
  nodes: readonly string[],
  now: number,
  {
    addresses = serverAddresses({ bind: "127.0.0.1" }),
    nodeAddresses = new Map(),
    onRenewed = () => {},
  }: CredentialOptions = {},
): Promise<Credentials> {
  const file = (name: string): string => join(layout.pki, name);
  const made: NewFile[] = [];
  const renewals = new Renewals(now);
  const pair = async (
    name: string,
    make: (former: Certificate | undefined) => Promise<Certificate>,
    isGood: (certificate: X509Certificate) => boolean,
  ): Promise<Certificate> => {
    const [certificate, key] = [file(`${name}.crt`), file(`${name}.key`)];
    let former: Certificate | undefined;
    if (existsSync(certificate) && existsSync(key)) {
      const known = { certificate: readFileSync(certificate, "utf8"), key: readFileSync(key, "utf8") };
      if (isUsable(known, isGood)) return withKeyForm(known);
      if (isUsable(known, () => true)) former = known;
    }
    const issued = await make(former);
    // The key first: a certificate alone would look complete.
    made.push(
      { path: key, data: issued.key, folderMode: 0o700 },
      { path: certificate, data: issued.certificate, mode: 0o644, folderMode: 0o700 },
    );
    return issued;
  };

  const issuedBy = (issuer: Certificate): Issue => {
    const { publicKey } = new X509Certificate(issuer.certificate);
    return (name, options, isGood = () => true) =>
      pair(
        name,
        () => issueCertificate(issuer, options, now),
        (certificate) =>
          certificate.verify(publicKey) &&
          isGood(certificate) &&
          renewals.isInTime(name, certificate, minValidity),
      );
  };
  const authorityPair = (name: string, commonName: string): Promise<Certificate> =>
    pair(
      name,
      (former) => createAuthority(commonName, now, former?.key),
      (certificate) => renewals.isAuthorityInTime(name, commonName, certificate),
    );
  const authority = await authorityPair("ca", "dray-ca");
  const issue = issuedBy(authority);
  const { dnsNames, ipAddresses } = addresses;
  const server = await issue(
    "server",
    { commonName: "kube-apiserver", dnsNames, ipAddresses, usages: ["server"] },
    (certificate) => isFor(certificate, addresses),
  );
  const admin = await issue("admin", {
    commonName: "kubernetes-admin",
    organizations: ["system:masters"],
    usages: ["client"],
  });
  const kubeletClient = await issue("kubelet-client", {
    commonName: "kube-apiserver-kubelet-client",
    organizations: ["system:masters"],
    usages: ["client"],
  });
  const frontProxyAuthority = await authorityPair("front-proxy-ca", "dray-front-proxy-ca");
  const frontProxyClient = await issuedBy(frontProxyAuthority)("front-proxy-client", {
    commonName: frontProxyName,
    usages: ["client"],
  });
  const drivers = await issue("simulated-drivers", { commonName: driversUser, usages: ["client"] });
  const simulatedNodes = {
    client: await issue("simulated-nodes", { commonName: simulatedNodesUser, usages: ["client"] }),
    server: await issue("simulated-nodes-server", {
      commonName: simulatedNodesUser,
      dnsNames: ["localhost"],
      ipAddresses: ["127.0.0.1"],
      usages: ["server"],
    }),
  };
  const proxy = await issue("kube-proxy", { commonName: "system:kube-proxy", usages: ["client"] });
  const keyFile = file("service-account.key");
  const known = existsSync(keyFile);
  const serviceAccountKey = known ? readSigningKey(keyFile) : await createSigningKey();
  if (!known) made.push({ path: keyFile, data: serviceAccountKey, folderMode: 0o700 });
  const nodePairs = await nodeCertificates(nodes, nodeAddresses, issue);
  writeFilesAtomicallySync(made);
  for (const text of renewals.texts(layout.pki)) onRenewed(text);
  return {
    ...{ authority, server, admin, kubeletClient, frontProxyAuthority, frontProxyClient },
    ...{ drivers, simulatedNodes, proxy, serviceAccountKey },
    nodes: nodePairs,
  };
}

async function nodeCertificates(
  nodes: readonly string[],
  addresses: ReadonlyMap<string, string>,
  issue: Issue,
): Promise<Credentials["nodes"]> {
  const pairs = new Map<string, { client: Certificate; server: Certificate }>();
  for (const node of nodes) {
    const commonName = `system:node:${node}`;
    const address = addresses.get(node);
    const served = {
      dnsNames: [node, "localhost"],
      ipAddresses: ["127.0.0.1", ...(address === undefined ? [] : [address])],
    };
    pairs.set(node, {
      client: await issue(`node-${node}`, {
        commonName,
        organizations: ["system:nodes"],
        usages: ["client"],
      }),
      server: await issue(
        `node-${node}-server`,
        { commonName, organizations: ["system:nodes"], ...served, usages: ["server"] },
        (certificate) => isFor(certificate, served),
      ),
    });
  }
  return pairs;
}

type Issue = (
  name: string,
  options: CertificateOptions,
  isGood?: (certificate: X509Certificate) => boolean,
) => Promise<Certificate>;

/**
 * Throws if the file has no key: a new one would end all tokens that the old one signed, so that is left to
 * the user.
 */
function readSigningKey(path: string): string {
  const key = readFileSync(path, "utf8");
  try {
    createPrivateKey(key);
  } catch {
    throw new Error(
      `${path} holds no private key: restore it from a copy, or delete it for a new one (tokens of service accounts end with it)`,
    );
  }
  return key;
}

/**
 * A certificate that can be read, with the key that belongs to it: a crash may leave the key of the next one.
 */
function isUsable(
  { certificate, key }: Certificate,
  isGood: (certificate: X509Certificate) => boolean,
): boolean {
  try {
    const parsed = new X509Certificate(certificate);
    return parsed.checkPrivateKey(createPrivateKey(key)) && isGood(parsed);
  } catch {
    return false;
  }
}

/** Reports whether a certificate is for exactly these addresses and names. */
function isFor(
  certificate: X509Certificate,
  { dnsNames, ipAddresses }: Pick<ServerAddresses, "ipAddresses" | "dnsNames">,
): boolean {
  const found = (certificate.subjectAltName ?? "").split(", ").map((entry) => {
    const [type, value = ""] = entry.split(/:(.*)/s) as [string, string?];
    return type === "IP Address" ? `IP ${plainAddress(value)}` : `${type} ${value}`;
  });
  const wanted = [
    ...dnsNames.map((name) => `DNS ${name}`),
    ...ipAddresses.map((address) => `IP ${plainAddress(address)}`),
  ];
  return found.length === wanted.length && wanted.every((one) => found.includes(one));
}

/** The cluster's own front proxy, as the API server and those behind it know it. */
export function ownRequestHeader({ frontProxyAuthority }: Pick<Credentials, "frontProxyAuthority">): {
  readonly clientAuthority: string;
  readonly allowedNames: readonly string[];
} {
  return { clientAuthority: frontProxyAuthority.certificate, allowedNames: [frontProxyName] };
}

/**
 * Writes the cluster's own kubeconfig, of the administrator, those of what simulates drivers and nodes, of
 * the proxy and of the nodes, for a server at `url`.
 */
export async function writeKubeconfigs(
  layout: Layout,
  name: string,
  credentials: Credentials,
  url: string,
): Promise<void> {
  const common = { name: contextName(name), server: url, ca: credentials.authority.certificate };
  const { certificate: cert, key } = credentials.admin;
  await writeOwnKubeconfig(layout, { ...common, cert, key });
  for (const [path, { certificate, key }] of [
    [layout.driversKubeconfig, credentials.drivers],
    [layout.simulatedNodesKubeconfig, credentials.simulatedNodes.client],
    [layout.proxyKubeconfig, credentials.proxy],
  ] as const)
    await writeKubeconfig(path, { ...common, cert: certificate, key });
  await writeNodeKubeconfigs(layout, { name, url }, credentials, [...credentials.nodes.keys()]);
}

/** Writes the kubeconfigs of these nodes, which have credentials. */
export async function writeNodeKubeconfigs(
  layout: Layout,
  cluster: { readonly name: string; readonly url: string },
  credentials: Credentials,
  nodes: readonly string[],
): Promise<void> {
  const common = {
    name: contextName(cluster.name),
    server: cluster.url,
    ca: credentials.authority.certificate,
  };
  for (const node of nodes) {
    const pair = credentials.nodes.get(node);
    if (pair === undefined) throw new Error(`node ${node} has no credentials`);
    const { certificate: cert, key } = pair.client;
    await writeKubeconfig(layout.nodeKubeconfig(node), { ...common, cert, key });
  }
}
