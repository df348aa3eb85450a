/** API servers in processes of their own: Dray's, or etcd and kube-apiserver. */

import { createPublicKey } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Certificate, createAuthority, createSigningKey, issueCertificate } from "@dray/apiserver";
import { eventually } from "@dray/testing/eventually";
import { freePort, freePorts } from "@dray/testing/ports";
import { program as drayProgram, environment } from "../scripts/clone.js";
import { peer } from "./peers.ts";
import { type Program, start } from "./processes.ts";
import { releaseFlag } from "./release.ts";

/** Whose API server it is. */
export type Side = "dray" | "peer";

/** Access to a server for clients and components, for Dray and kube-apiserver alike. */
export interface Server {
  /** The API server is the last of them. */
  readonly programs: readonly Program[];
  readonly url: string;
  readonly authority: Certificate;
  /** Paths below the folder of the server. */
  readonly files: { readonly ca: string; readonly caKey: string; readonly serviceAccountKey: string };
}

interface ServerOptions {
  /** Flags for Node if it is Dray's. */
  readonly nodeFlags?: readonly string[];
  readonly flags?: readonly string[];
  /** An address of this machine. */
  readonly address?: string;
}

/** Starts one in `folder`. It may not be ready yet. */
export async function startServer(
  side: Side,
  folder: string,
  { nodeFlags = [], flags = [], address = "127.0.0.1" }: ServerOptions = {},
): Promise<Server> {
  return side === "dray"
    ? startDray(folder, { nodeFlags, flags, address })
    : startPeer(folder, flags, address);
}

/** Starts Dray's API server in `folder`. */
export async function startDray(
  folder: string,
  { nodeFlags = [], flags: more = [], address = "127.0.0.1" }: ServerOptions = {},
): Promise<Server> {
  const port = await freePort();
  const data = join(folder, "data");
  const kubeconfig = join(folder, "dray.kubeconfig");
  const flags = [
    releaseFlag,
    `--data-dir=${data}`,
    `--kubeconfig=${kubeconfig}`,
    `--port=${port}`,
    `--bind-address=${address}`,
    ...more,
  ];
  const program = start(
    "dray",
    [process.execPath, ...process.execArgv, ...nodeFlags, ...(await drayProgram(["apiserver", ...flags]))],
    join(folder, "dray.log"),
    { ...environment, ...process.env },
  );
  const pki = join(data, "pki");
  const files = {
    ca: join(pki, "ca.crt"),
    caKey: join(pki, "ca.key"),
    serviceAccountKey: join(pki, "service-account.key"),
  };
  try {
    const authority = await eventually("dray has its certificates", async () => {
      if (program.ended !== undefined) throw new Error(readFileSync(program.log, "utf8").slice(-2000));
      const read = (file: string) => readFileSync(file, "utf8");
      try {
        readFileSync(kubeconfig); // Written last: the keys are complete.
        return { certificate: read(files.ca), key: read(files.caKey) };
      } catch {
        return undefined;
      }
    });
    return { programs: [program], url: `https://${address}:${port}`, authority, files };
  } catch (error) {
    await program.stop();
    throw error;
  }
}

async function startPeer(folder: string, more: readonly string[], address: string): Promise<Server> {
  const [etcdPort, etcdPeerPort, port] = await freePorts(3);
  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const etcdPeerUrl = `http://127.0.0.1:${etcdPeerPort}`;
  const url = `https://${address}:${port}`;
  const now = Date.now();
  const authority = await createAuthority("interop", now);
  const serving = await issueCertificate(
    authority,
    {
      commonName: "kube-apiserver",
      dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
      ipAddresses: [address, "10.0.0.1"],
      usages: ["server"],
    },
    now,
  );
  const kubeletClient = await issueCertificate(
    authority,
    {
      commonName: "kube-apiserver-kubelet-client",
      organizations: ["system:masters"],
      usages: ["client"],
    },
    now,
  );
  // Aggregated API servers believe what this one says of a request's user.
  const frontProxy = await createAuthority("interop-front-proxy", now);
  const proxyClient = await issueCertificate(
    frontProxy,
    { commonName: "front-proxy-client", usages: ["client"] },
    now,
  );
  const write = (name: string, content: string): string => {
    const file = join(folder, name);
    writeFileSync(file, content, { mode: 0o600 });
    return file;
  };
  const signingKey = await createSigningKey();
  const publicKey = createPublicKey(signingKey).export({ type: "spki", format: "pem" }) as string;
  const files = {
    ca: write("ca.crt", authority.certificate),
    caKey: write("ca.key", authority.key),
    serviceAccountKey: write("service-account.key", signingKey),
  };
  const etcd = start(
    "etcd",
    [
      peer("etcd"),
      `--data-dir=${join(folder, "etcd")}`,
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      `--listen-peer-urls=${etcdPeerUrl}`,
      `--initial-advertise-peer-urls=${etcdPeerUrl}`,
      `--initial-cluster=default=${etcdPeerUrl}`,
    ],
    join(folder, "etcd.log"),
  );
  const apiserver = start(
    "kube-apiserver",
    [
      peer("kube-apiserver"),
      `--etcd-servers=${etcdUrl}`,
      `--bind-address=${address}`,
      `--secure-port=${port}`,
      `--tls-cert-file=${write("server.crt", serving.certificate)}`,
      `--tls-private-key-file=${write("server.key", serving.key)}`,
      `--client-ca-file=${files.ca}`,
      `--kubelet-client-certificate=${write("kubelet-client.crt", kubeletClient.certificate)}`,
      `--kubelet-client-key=${write("kubelet-client.key", kubeletClient.key)}`,
      `--kubelet-certificate-authority=${files.ca}`,
      "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
      `--requestheader-client-ca-file=${write("front-proxy-ca.crt", frontProxy.certificate)}`,
      "--requestheader-allowed-names=front-proxy-client",
      "--requestheader-username-headers=X-Remote-User",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      `--proxy-client-cert-file=${write("front-proxy-client.crt", proxyClient.certificate)}`,
      `--proxy-client-key-file=${write("front-proxy-client.key", proxyClient.key)}`,
      // The machine of the server has no kube-proxy: the server calls the pods behind a Service itself.
      "--enable-aggregator-routing=true",
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      "--allow-privileged=true",
      "--service-cluster-ip-range=10.0.0.0/24",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${write("service-account.pub", publicKey)}`,
      `--service-account-signing-key-file=${files.serviceAccountKey}`,
      ...more,
    ],
    join(folder, "kube-apiserver.log"),
  );
  return { programs: [etcd, apiserver], url, authority, files };
}
