import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { type Certificate, createAuthority, issueCertificate } from "@dray/apiserver";
import { temporaryFolder } from "@dray/testing/folder";
import { frontProxy, frontProxyOptions } from "./front-proxy.ts";

const now = Date.now();
const own = await createAuthority("own", now);
const other = await createAuthority("other", now);
const issue = (authority: Certificate): Promise<Certificate> =>
  issueCertificate(authority, { commonName: "front-proxy-client", usages: ["client"] }, now);
const credentials = { frontProxyAuthority: own, frontProxyClient: await issue(own) };

function file(t: TestContext, text: string): string {
  const folder = temporaryFolder(t);
  const path = join(folder, "file.pem");
  writeFileSync(path, text);
  return path;
}

test("without flags the server is a front proxy with a certificate of its own", () => {
  assert.deepEqual(frontProxy(frontProxyOptions({}), credentials), {
    proxyClient: credentials.frontProxyClient,
    requestHeader: { clientAuthority: own.certificate, allowedNames: ["front-proxy-client"] },
  });
});

test("other front proxies are believed beside it", (t) => {
  const requestheaderClientCaFile = file(t, other.certificate);
  const all = frontProxy(frontProxyOptions({ requestheaderClientCaFile }), credentials);
  assert.equal(all.requestHeader?.clientAuthority, `${own.certificate}\n${other.certificate}`);
  assert.deepEqual(all.requestHeader?.allowedNames, []);
  const flags = {
    requestheaderClientCaFile,
    requestheaderAllowedNames: "a, b",
    requestheaderUsernameHeaders: "X-User,X-Name",
  };
  const { requestHeader } = frontProxy(frontProxyOptions(flags), credentials);
  assert.deepEqual(requestHeader?.allowedNames, ["front-proxy-client", "a", "b"]);
  assert.deepEqual(requestHeader?.usernameHeaders, ["X-User", "X-Name"]);
});

test("with a certificate of another authority nothing of our own is left", async (t) => {
  const client = await issue(other);
  const flags = {
    proxyClientCertFile: file(t, client.certificate),
    proxyClientKeyFile: file(t, client.key),
    requestheaderClientCaFile: file(t, other.certificate),
    requestheaderAllowedNames: "a",
  };
  assert.deepEqual(frontProxy(frontProxyOptions(flags), credentials), {
    proxyClient: client,
    requestHeader: { clientAuthority: other.certificate, allowedNames: ["a"] },
  });
});

test("files that cannot be used are named", (t) => {
  assert.throws(() => frontProxyOptions({ proxyClientCertFile: file(t, "x") }), {
    message: "--proxy-client-cert-file and --proxy-client-key-file must be given together",
  });
  const wrong = file(t, "x");
  assert.throws(
    () => frontProxyOptions({ requestheaderClientCaFile: wrong }),
    /^UsageError: --requestheader-client-ca-file .*: must hold certificates in PEM form/,
  );
});
