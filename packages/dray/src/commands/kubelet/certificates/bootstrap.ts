import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Clock, type Log, loadKubeconfig, writeKubeconfig } from "@dray/client";
import { connect } from "../../../connection/connect.ts";
import { requestCertificate } from "./request.ts";
import { pkiFolder } from "./serving.ts";

export interface BootstrapOptions {
  readonly nodeName: string;
  readonly rootDir: string;
  /** Written if it is missing or its certificate has expired. */
  readonly kubeconfig: string;
  /** The credentials of the certificate request, usually a bootstrap token. */
  readonly bootstrapKubeconfig: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Gets the client certificate of a node and writes its kubeconfig.
 * Upstream: pkg/kubelet/certificate/bootstrap/bootstrap.go (TLS bootstrapping)
 */
export async function bootstrapNode(options: BootstrapOptions): Promise<void> {
  const { nodeName, rootDir, kubeconfig, bootstrapKubeconfig, clock, log, signal } = options;
  if (await isUsable(kubeconfig, clock.now())) return;
  const { connection } = await loadKubeconfig({ file: bootstrapKubeconfig });
  const { client } = await connect({ kubeconfig: bootstrapKubeconfig }, "kubelet/dray", log);
  try {
    const { cert, key } = await requestCertificate({
      client,
      clock,
      log,
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usage: "client auth",
      names: { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] },
      keep: join(pkiFolder(rootDir), "kubelet-client.json.tmp"),
      signal,
    });
    const { server, ca = "" } = connection;
    await writeKubeconfig(kubeconfig, { name: "default-context", server, ca, cert, key });
    log.info({ node: nodeName, kubeconfig }, "the node has its client certificate");
  } finally {
    client.close();
  }
}

async function isUsable(kubeconfig: string, now: number): Promise<boolean> {
  if (!existsSync(kubeconfig)) return false;
  const { cert } = (await loadKubeconfig({ file: kubeconfig })).connection;
  return cert === undefined || new X509Certificate(cert).validToDate.getTime() > now;
}
