import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { connect as connectTLS } from "node:tls";
import { CertificateSigningRequest } from "@dray/api/certificates/v1";
import { Node, Secret } from "@dray/api/core/v1";
import { loadKubeconfig, writeKubeconfig } from "@dray/client";
import { layoutOf } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { connect } from "../../connection/connect.ts";
import { dray, inFolder, processesWith, start } from "../../testing/program.ts";

const tokenId = "abcdef";
const tokenSecret = "0123456789abcdef";

/** Returns the certificate of a server. */
function certificateAt(port: number): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connectTLS({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      const { raw } = socket.getPeerCertificate();
      socket.destroy();
      resolve(new X509Certificate(raw));
    });
    socket.once("error", reject);
  });
}

test("a node joins with a bootstrap token, and gets certificates of the cluster as client and as server", () =>
  inFolder(async (folder) => {
    const dataDir = join(folder, "data");
    const layout = layoutOf(dataDir);
    let agent: ChildProcess | undefined;
    try {
      const { code, stderr } = await dray(["up", "--detach", "--nodes", "0", "--data-dir", dataDir]);
      assert.equal(code, 0, stderr);
      const { client } = await connect({ kubeconfig: layout.kubeconfig }, "test");
      try {
        await client.resource(Secret).create({
          metadata: { namespace: "kube-system", name: `bootstrap-token-${tokenId}` },
          type: "bootstrap.kubernetes.io/token",
          stringData: {
            "token-id": tokenId,
            "token-secret": tokenSecret,
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
          },
        });
        const { server, ca = "" } = (await loadKubeconfig({ file: layout.kubeconfig })).connection;
        const bootstrap = join(folder, "bootstrap");
        await writeKubeconfig(bootstrap, { name: "b", server, ca, token: `${tokenId}.${tokenSecret}` });
        const kubeconfig = join(folder, "node.kubeconfig");
        const own = ["--node-name", "n1", "--kubeconfig", kubeconfig, "--root-dir", join(folder, "n1")];
        const flags = ["--bootstrap-kubeconfig", bootstrap, "--rotate-server-certificates"];
        agent = start(["kubelet", ...own, ...flags]);
        const node = async (): Promise<Node | undefined> => (await client.resource(Node).list()).items[0];
        await eventually("ready", async () =>
          ((await node())?.status?.conditions ?? []).some(
            ({ type, status }) => type === "Ready" && status === "True",
          ),
        );
        const { cert = "" } = (await loadKubeconfig({ file: kubeconfig })).connection;
        assert.equal(new X509Certificate(cert).subject, "O=system:nodes\nCN=system:node:n1");
        const port = (await node())?.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
        const authority = new X509Certificate(ca);
        await eventually("a serving certificate of the cluster", async () =>
          (await certificateAt(port)).verify(authority.publicKey),
        );
        // The API server verifies it.
        assert.equal(await client.text("GET", "/api/v1/nodes/n1/proxy/healthz"), "ok");
        const requests = (await client.resource(CertificateSigningRequest).list()).items;
        assert.deepEqual(requests.map(({ spec }) => spec.signerName).sort(), [
          "kubernetes.io/kube-apiserver-client-kubelet",
          "kubernetes.io/kubelet-serving",
        ]);
        const pair = readFileSync(join(folder, "n1/var/lib/kubelet/pki/kubelet-server-current.pem"), "utf8");
        assert.match(pair, /BEGIN CERTIFICATE[\s\S]*BEGIN EC PRIVATE KEY/);
        assert.equal(existsSync(join(folder, "n1/var/lib/kubelet/pki/kubelet-server.json.tmp")), false);
      } finally {
        client.close();
      }
    } finally {
      agent?.kill("SIGKILL");
      await dray(["down", "--delete-data", "--data-dir", dataDir]);
      for (const pid of processesWith(folder)) process.kill(pid, "SIGKILL");
    }
  }));
