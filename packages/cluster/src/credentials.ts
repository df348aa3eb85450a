import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Certificate, createAuthority, createSigningKey, issueCertificate } from "@dray/apiserver/pki";
import { writeKubeconfig } from "@dray/client";
import { type NewFile, writeFilesAtomicallySync } from "@dray/files";
import { contextName, writeOwnKubeconfig } from "./kubeconfigs.ts";
import type { Layout } from "./layout.ts";

/** What the components of one cluster prove themselves with; kept in `pki/` of the data directory. */
export interface Credentials {
  readonly authority: Certificate;
  /** The API server, at its address on this machine. */
  readonly server: Certificate;
  /** The administrator, in group system:masters. */
  readonly admin: Certificate;
  /** The API server, as a client of the agents. */
  readonly kubeletClient: Certificate;
  /** Private key that signs the tokens of service accounts, PEM. */
  readonly serviceAccountKey: string;
  /** For each node: the agent as a client, and as a server. */
  readonly nodes: ReadonlyMap<string, { readonly client: Certificate; readonly server: Certificate }>;
}

/** Reads the credentials of a cluster, and makes those that are missing; `now` in milliseconds since the epoch. */
export async function ensureCredentials(
  layout: Layout,
  nodes: readonly string[],
  now: number,
): Promise<Credentials> {
  const file = (name: string): string => join(layout.pki, name);
  const made: NewFile[] = [];
  const pair = async (name: string, make: () => Promise<Certificate>): Promise<Certificate> => {
    const [certificate, key] = [file(`${name}.crt`), file(`${name}.key`)];
    if (existsSync(certificate) && existsSync(key)) {
      return { certificate: readFileSync(certificate, "utf8"), key: readFileSync(key, "utf8") };
    }
    const issued = await make();
    // The key first: a certificate alone would look complete.
    made.push(
      { path: key, data: issued.key, folderMode: 0o700 },
      { path: certificate, data: issued.certificate, mode: 0o644, folderMode: 0o700 },
    );
    return issued;
  };

  const authority = await pair("ca", () => createAuthority("dray-ca", now));
  const local = { dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"] };
  const issue = (subject: Parameters<typeof issueCertificate>[1]) => (): Promise<Certificate> =>
    issueCertificate(authority, subject, now);
  const server = await pair(
    "server",
    issue({
      commonName: "kube-apiserver",
      ...local,
      ipAddresses: ["127.0.0.1", "::1", "10.0.0.1"],
      usages: ["server"],
    }),
  );
  const admin = await pair(
    "admin",
    issue({ commonName: "kubernetes-admin", organizations: ["system:masters"], usages: ["client"] }),
  );
  const kubeletClient = await pair(
    "kubelet-client",
    issue({
      commonName: "kube-apiserver-kubelet-client",
      organizations: ["system:masters"],
      usages: ["client"],
    }),
  );
  const keyFile = file("service-account.key");
  const known = existsSync(keyFile);
  const serviceAccountKey = known ? readFileSync(keyFile, "utf8") : await createSigningKey();
  if (!known) made.push({ path: keyFile, data: serviceAccountKey, folderMode: 0o700 });
  const nodePairs = new Map<string, { client: Certificate; server: Certificate }>();
  for (const node of nodes) {
    const commonName = `system:node:${node}`;
    nodePairs.set(node, {
      client: await pair(
        `node-${node}`,
        issue({ commonName, organizations: ["system:nodes"], usages: ["client"] }),
      ),
      server: await pair(
        `node-${node}-server`,
        issue({
          commonName,
          organizations: ["system:nodes"],
          dnsNames: [node, "localhost"],
          ipAddresses: ["127.0.0.1"],
          usages: ["server"],
        }),
      ),
    });
  }
  writeFilesAtomicallySync(made);
  return { authority, server, admin, kubeletClient, serviceAccountKey, nodes: nodePairs };
}

/** Writes the cluster's own kubeconfig, of the administrator, and those of the nodes, for a server at `url`. */
export async function writeKubeconfigs(
  layout: Layout,
  name: string,
  credentials: Credentials,
  url: string,
): Promise<void> {
  const common = { name: contextName(name), server: url, ca: credentials.authority.certificate };
  const { certificate: cert, key } = credentials.admin;
  await writeOwnKubeconfig(layout, { ...common, cert, key });
  for (const [node, { client }] of credentials.nodes) {
    const { certificate: cert, key } = client;
    await writeKubeconfig(layout.nodeKubeconfig(node), { ...common, cert, key });
  }
}
