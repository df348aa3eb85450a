import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CertificateSigningRequest } from "@dray/api/certificates/v1";
import { createAuthority, signCertificateRequest } from "@dray/apiserver";
import { type Client, silentLog, systemClock } from "@dray/client";
import { startApiServer } from "@dray/testing/api-server";
import { eventually } from "@dray/testing/eventually";
import { inFolder } from "../../../testing/program.ts";
import { type CertificateWish, requestCertificate } from "./request.ts";

/** Starts a server without a signer, and makes a certificate request to it. */
async function withServer(
  run: (client: Client, wish: (signal?: AbortSignal) => CertificateWish) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    const server = await startApiServer();
    const client = server.admin();
    try {
      await run(client, (signal = new AbortController().signal) => ({
        client,
        clock: systemClock,
        log: silentLog,
        signerName: "kubernetes.io/kubelet-serving",
        usage: "server auth",
        names: { commonName: "system:node:n1", organizations: ["system:nodes"], dnsNames: ["n1"] },
        keep: join(folder, "pki/request.tmp"),
        signal,
      }));
    } finally {
      await server.close();
    }
  });
}

const requests = async (client: Client): Promise<readonly CertificateSigningRequest[]> =>
  (await client.resource(CertificateSigningRequest).list()).items;

test("an agent that is ended while it waits goes on with the same request and key", () =>
  withServer(async (client, wish) => {
    const stop = new AbortController();
    const first = assert.rejects(requestCertificate(wish(stop.signal)));
    await eventually("asked", async () => (await requests(client)).length === 1);
    stop.abort();
    await first;
    assert.ok(existsSync(wish().keep));
    const second = requestCertificate(wish());
    const [request] = await requests(client);
    assert.ok(request);
    const now = Date.now();
    const options = { usages: request.spec.usages ?? [], duration: 3_600_000, now };
    const certificate = signCertificateRequest(
      await createAuthority("ca", now),
      request.spec.request,
      options,
    );
    await client
      .resource(CertificateSigningRequest)
      .update(
        { ...request, status: { certificate: Buffer.from(certificate).toString("base64") } },
        { subresource: "status" },
      );
    const pair = await second;
    assert.equal(pair.cert, certificate);
    assert.ok(new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key)));
    assert.equal((await requests(client)).length, 1);
    assert.equal(existsSync(wish().keep), false);
  }));

test("a request that is denied says why, and the next one is another", () =>
  withServer(async (client, wish) => {
    const refused = assert.rejects(requestCertificate(wish()), {
      message: /^the CertificateSigningRequest csr-\w{10} was denied: Stranger: go away$/,
    });
    await eventually("asked", async () => (await requests(client)).length === 1);
    const [request] = await requests(client);
    assert.ok(request);
    const conditions = [{ type: "Denied", status: "True", reason: "Stranger", message: "go away" }];
    await client
      .resource(CertificateSigningRequest)
      .update({ ...request, status: { conditions } }, { subresource: "approval" });
    await refused;
    assert.equal(existsSync(wish().keep), false);
  }));
