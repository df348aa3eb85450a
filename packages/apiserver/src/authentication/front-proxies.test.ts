import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { httpsRequest } from "@dray/testing/http";
import { type Certificate, createAuthority, issueCertificate } from "../certificates/pki.ts";
import { testServer } from "../testing/server.ts";

const now = Date.now();
const clients = await createAuthority("clients", now);
const proxies = await createAuthority("proxies", now);
const server = await issueCertificate(
  clients,
  { commonName: "s", ipAddresses: ["127.0.0.1"], usages: ["server"] },
  now,
);
const issue = (authority: Certificate, commonName: string): Promise<Certificate> =>
  issueCertificate(authority, { commonName, usages: ["client"] }, now);

type Headers = Record<string, string | string[]>;
interface Self {
  readonly status: number;
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Record<string, readonly string[]>;
}

/** Returns the user that the server derives from this certificate and these headers. */
async function whoAmI(
  t: TestContext,
  allowedNames: readonly string[],
): Promise<(certificate: Certificate, headers: Headers) => Promise<Self>> {
  const tested = await testServer({
    serving: { ...server, clientAuthority: clients.certificate },
    requestHeader: { clientAuthority: proxies.certificate, allowedNames },
  });
  const { port } = await tested.server.listen();
  t.after(() => tested.server.close());
  return async ({ certificate: cert, key }, headers) => {
    const url = `https://127.0.0.1:${port}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
    const options = {
      method: "POST",
      ca: clients.certificate,
      cert,
      key,
      headers: { ...headers, "content-type": "application/json" },
    };
    const response = await httpsRequest(url, options, "{}");
    const { status } = JSON.parse(response.body.toString());
    return { status: response.status, ...status?.userInfo };
  };
}

const headers = {
  "x-remote-user": "eve",
  "x-remote-uid": "7",
  "x-remote-group": ["a", "b"],
  "x-remote-extra-example.com%2fscope": ["x", "y"],
};

test("a front proxy names the user", async (t) => {
  const ask = await whoAmI(t, ["front"]);
  const self = await ask(await issue(proxies, "front"), headers);
  assert.equal(self.username, "eve");
  assert.equal(self.uid, "7");
  assert.deepEqual(self.groups, ["a", "b", "system:authenticated"]);
  assert.deepEqual(self.extra, { "example.com/scope": ["x", "y"] });
});

test("a certificate that is not a front proxy's, or has another name, does not name the user", async (t) => {
  const ask = await whoAmI(t, ["front"]);
  const client = await ask(await issue(clients, "front"), headers);
  assert.equal(client.username, "front");
  assert.equal((await ask(await issue(proxies, "other"), headers)).status, 401);
  assert.equal((await ask(await issue(proxies, "front"), {})).status, 401);
});

test("without allowed names any common name is allowed", async (t) => {
  const ask = await whoAmI(t, []);
  assert.equal((await ask(await issue(proxies, "other"), headers)).username, "eve");
});
