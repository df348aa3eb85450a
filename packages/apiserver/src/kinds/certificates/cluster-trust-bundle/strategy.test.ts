import assert from "node:assert/strict";
import { test } from "node:test";
import { createAuthority, issueCertificate } from "../../../certificates/pki.ts";
import { testServer } from "../../../testing/server.ts";

const path = "/apis/certificates.k8s.io/v1/clustertrustbundles";
const now = Date.parse("2026-01-01T00:00:00Z");

/** The words are those of validateTrustBundle. */
test("a ClusterTrustBundle holds CA certificates, each once", async () => {
  const tested = await testServer({
    featureGates: new Map([["ClusterTrustBundle", true]]),
    runtimeConfig: { "api/all": true },
  });
  const authority = await createAuthority("one", now);
  const one = authority.certificate;
  const two = (await createAuthority("two", now)).certificate;
  const leaf = (await issueCertificate(authority, { commonName: "leaf", usages: ["client"] }, now))
    .certificate;
  const headers = one.replace("CERTIFICATE-----\n", "CERTIFICATE-----\nName: value\n\n");
  const create = (trustBundle: string, name = "b", signerName?: string) =>
    tested.call("POST", path, {
      body: { metadata: { name }, spec: { trustBundle, ...(signerName !== undefined && { signerName }) } },
    });
  const refused = async (text: string): Promise<unknown> => {
    const { status, body } = await create(text);
    assert.equal(status, 422, JSON.stringify(body));
    return body.details.causes.map(({ field, message }: { field: string; message: string }) => {
      assert.equal(field, "spec.trustBundle");
      return message.replace('Invalid value: "<value omitted>": ', "");
    });
  };
  assert.deepEqual(await refused("nothing"), ["at least one trust anchor must be provided"]);
  assert.deepEqual(await refused(`${one}text between\n${two}${one}${one}`), [
    "duplicate trust anchor (indices [0 2 3])",
  ]);
  assert.deepEqual(
    await refused(
      `${headers}${leaf}${one}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN X-----\nAAAA\n-----END X-----\n`,
    ),
    [
      "entry 0 has PEM block headers",
      "entry 1 does not have the CA bit set",
      "entry 3 does not parse as X.509",
      "entry 4 has bad block type: X",
    ],
  );
  assert.deepEqual(await refused(one.padEnd(1024 * 1024 + 1)), [
    "Too long: may not be more than 1048576 bytes",
  ]);
  const foreign = await create(one, "example:x", "example/x");
  assert.equal(foreign.status, 422);
  assert.match(
    foreign.body.message,
    /spec\.signerName: Invalid value: "example": should be a domain with at least/,
  );

  const made = await create(`text before\n${one}${two}`);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const patched = (spec: object) => tested.call("PATCH", `${path}/b`, { body: { spec } });
  assert.equal((await patched({ trustBundle: two })).status, 200);
  assert.equal((await patched({ trustBundle: "PEM" })).status, 422);
});
