import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { signCertificateRequest } from "../../../certificates/certificate-signing.ts";
import { createCertificateRequest } from "../../../certificates/pki.ts";
import { createAuthority } from "../../../index.ts";
import { type Answer, type TestServer, testServer } from "../../../testing/server.ts";

const collection = "/apis/certificates.k8s.io/v1/namespaces/n/podcertificaterequests";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const { request: pem } = createCertificateRequest({ commonName: "" });
const der = (text: string): string => text.replace(/-----[^-]+-----|\s/g, "");
const minute = 60_000;
const seconds = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

const spec = {
  signerName: "example.com/pods",
  podName: "p",
  podUID: "pod-uid",
  serviceAccountName: "default",
  serviceAccountUID: "account-uid",
  nodeName: "n1",
  nodeUID: "node-uid",
  maxExpirationSeconds: 86_400,
  stubPKCS10Request: der(pem),
};

let tested: TestServer;
let authority: Awaited<ReturnType<typeof createAuthority>>;
before(async () => {
  tested = await testServer();
  await tested.namespace("n");
  authority = await createAuthority("signer", Date.now());
});
after(() => tested.server.close());

const create = (name: string, changes: object = {}): Promise<Answer> =>
  tested.call("POST", collection, { body: { metadata: { name }, spec: { ...spec, ...changes } } });
const causes = ({ body }: Answer): string[] =>
  body.details.causes.map(({ field, message }: { field: string; message: string }) => `${field}: ${message}`);
const setStatus = (name: string, status: object, more: object = {}): Promise<Answer> =>
  tested.call("PATCH", `${collection}/${name}/status`, { body: { status }, ...more });
const condition = (type: string, status = "True"): object => ({
  type,
  status,
  reason: "Test",
  message: "",
  lastTransitionTime: seconds(Date.now()),
});
/** A status with a certificate that is valid from a minute ago on. */
const issued = (duration = 60 * minute, request = pem): Record<string, unknown> => {
  const now = Date.now() + 4 * minute;
  const certificateChain = signCertificateRequest(authority, Buffer.from(request).toString("base64"), {
    usages: ["client auth"],
    duration: duration + 5 * minute,
    now,
  });
  const { validFromDate: from, validToDate: to } = new X509Certificate(certificateChain);
  return {
    certificateChain,
    notBefore: seconds(from.getTime()),
    notAfter: seconds(to.getTime()),
    beginRefreshAt: seconds(from.getTime() + 15 * minute),
    conditions: [condition("Issued")],
  };
};

/**
 * Upstream: pkg/apis/certificates/validation/validation.go; pkg/registry/certificates/podcertificaterequest
 */
describe("PodCertificateRequests", () => {
  test("name pod, account, node and signer, and prove a key", async () => {
    assert.equal((await create("good")).status, 201);
    const wrong: readonly (readonly [changes: object, cause: RegExp])[] = [
      [{ signerName: "x" }, /^spec.signerName: .*fully qualified domain/],
      [{ podName: "P" }, /^spec.podName: .*lowercase RFC 1123 subdomain/],
      [{ nodeUID: "" }, /^spec.nodeUID: .*must not be empty$/],
      [{ podUID: "x".repeat(129) }, /^spec.podUID: Too long: may not be more than 128 bytes$/],
      [
        { maxExpirationSeconds: 3599 },
        /^spec.maxExpirationSeconds: .*3599: must be in the range \[3600, 7862400\]$/,
      ],
      [
        { signerName: "kubernetes.io/x", maxExpirationSeconds: 86_401 },
        /^spec.maxExpirationSeconds: .*must be in the range \[3600, 86400\]$/,
      ],
      [{ stubPKCS10Request: "" }, /^spec: Invalid value: exactly one of/],
      [{ stubPKCS10Request: "AAAA" }, /^spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR$/],
      [
        { stubPKCS10Request: der(pem).replace(/.{4}$/, "AAAA") },
        /^spec.stubPKCS10Request: Invalid value: invalid signature$/,
      ],
    ];
    for (const [changes, cause] of wrong) {
      const answer = await create("bad", changes);
      assert.equal(answer.status, 422, JSON.stringify(changes));
      assert.match(causes(answer)[0]!, cause);
    }
    const changed = await tested.call("PATCH", `${collection}/good`, { body: { spec: { podName: "q" } } });
    assert.match(causes(changed)[0]!, /^spec: .*field is immutable$/);
  });

  test("are issued once, with a certificate for their key and the times of it", async () => {
    await create("issued");
    const status = issued();
    const other = createCertificateRequest({ commonName: "" }).request;
    const wrong: readonly (readonly [status: object, cause: RegExp])[] = [
      [{ certificateChain: "x" }, /^status: Invalid value: status is immutable unless transitioning/],
      [{ conditions: [condition("Other")] }, /^status.conditions.\[0\].type: Unsupported value: "Other"/],
      [
        { conditions: [condition("Issued", "False")] },
        /^status.conditions.\[0\].status: Unsupported value: "False"/,
      ],
      [{ conditions: [condition("Issued"), condition("Denied")] }, /There may be at most one condition/],
      [{ ...status, conditions: [condition("Denied")] }, /^status: .*must be empty when denying or failing/],
      [{ ...status, certificateChain: "x" }, /must contain at least one certificate$/],
      [issued(60 * minute, other), /leaf certificate was not issued to the requested public key$/],
      [{ ...status, notAfter: null }, /^status.notAfter: Required value/],
      [
        { ...status, notBefore: seconds(0) },
        /^status.notBefore: .*NotBefore time encoded in the leaf certificate$/,
      ],
      [issued(30 * minute), /^status.certificateChain: .*lifetime must be >= 1 hour$/],
      [issued(25 * 60 * minute), /lifetime must be <= spec.maxExpirationSeconds \(86400\)$/],
      [
        { ...status, beginRefreshAt: status["notBefore"] },
        /must be at least 10 minutes after status.notBefore$/,
      ],
      [
        { ...status, beginRefreshAt: status["notAfter"] },
        /must be at least 10 minutes before status.notAfter$/,
      ],
    ];
    for (const [given, cause] of wrong) {
      const answer = await setStatus("issued", given);
      assert.equal(answer.status, 422, String(cause));
      assert.match(causes(answer)[0]!, cause);
    }
    assert.equal((await setStatus("issued", status)).status, 200);
    const again = await setStatus("issued", { beginRefreshAt: status["notBefore"] });
    assert.match(
      causes(again)[0]!,
      /^status: .*immutable after PodCertificateRequest is issued, denied, or failed$/,
    );
  });
});

describe("rights for PodCertificateRequests", () => {
  test("a decision requires the right to sign for the signer", async () => {
    await create("signed");
    const rules = [
      { apiGroups: ["certificates.k8s.io"], resources: ["podcertificaterequests/status"], verbs: ["*"] },
    ];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "writer" };
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ann" }];
    const metadata = { name: "writer" };
    await tested.call("POST", `${rbac}/clusterroles`, { body: { metadata, rules } });
    await tested.call("POST", `${rbac}/clusterrolebindings`, { body: { metadata, roleRef, subjects } });
    const ann = { user: "ann", groups: ["system:authenticated"] };
    const denied = { conditions: [condition("Denied")] };
    const refused = await setStatus("signed", denied, ann);
    assert.deepEqual(causes(refused), [
      'spec.signerName: Forbidden: User "ann" is not permitted to "sign" for signer "example.com/pods"',
    ]);
    const sign = {
      apiGroups: ["certificates.k8s.io"],
      resources: ["signers"],
      resourceNames: ["example.com/*"],
      verbs: ["sign"],
    };
    await tested.call("PATCH", `${rbac}/clusterroles/writer`, { body: { rules: [...rules, sign] } });
    assert.equal((await setStatus("signed", denied, ann)).status, 200);
  });

  test("of a node are about its own pods, for signers that they name", async () => {
    const node = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
    const as = { credential: { type: "user", user: node } } as const;
    const { uid: nodeUID } = (
      await tested.call("POST", "/api/v1/nodes", { body: { metadata: { name: "n1" } } })
    ).body.metadata;
    const podOn = async (name: string, nodeName: string, signerName: string): Promise<string> => {
      const podCertificate = { signerName, keyType: "ED25519", credentialBundlePath: "b" };
      const volumes = [{ name: "v", projected: { sources: [{ podCertificate }] } }];
      const body = {
        metadata: { name },
        spec: { nodeName, containers: [{ name: "c", image: "i" }], volumes },
      };
      const made = await tested.call("POST", "/api/v1/namespaces/n/pods", { body });
      assert.equal(made.status, 201, made.body.message);
      return made.body.metadata.uid;
    };
    const account = await tested.call("GET", "/api/v1/namespaces/n/serviceaccounts/default");
    const serviceAccountUID = account.body.metadata.uid;
    const own = { nodeUID, serviceAccountUID, podUID: await podOn("p", "n1", "example.com/pods") };
    const foreign = await podOn("foreign", "n2", "example.com/pods");
    const ask = (changes: object = {}): Promise<Answer> =>
      tested.call("POST", collection, {
        ...as,
        body: { metadata: { generateName: "node-" }, spec: { ...spec, ...own, ...changes } },
      });
    const wrong: readonly (readonly [changes: object, status: number, message: RegExp])[] = [
      [{ nodeName: "n2" }, 403, /NodeName="n2", which is not the requesting node "n1"$/],
      [{ nodeUID: "x" }, 500, /names node UID "x", inconsistent with the running node/],
      [{ podName: "gone" }, 500, /while retrieving pod "n\/gone" named in the PodCertificateRequest/],
      [{ podUID: "x" }, 500, /contains pod UID \("x"\) which differs from running pod/],
      [{ podName: "foreign", podUID: foreign }, 403, /pod "n\/foreign" is not running on node "n1"/],
      [
        { serviceAccountName: "other" },
        403,
        /serviceAccountName \("other"\) that differs from running pod \("default"\)$/,
      ],
      [{ serviceAccountUID: "x" }, 500, /names service account UID "x", which differs/],
      [
        { signerName: "example.com/other" },
        403,
        /does not mount a podCertificate projected volume for signer "example.com\/other"$/,
      ],
    ];
    for (const [changes, status, message] of wrong) {
      const answer = await ask(changes);
      assert.equal(answer.status, status, answer.body.message);
      assert.match(answer.body.message, message);
    }
    assert.equal((await ask()).status, 201);
  });
});

// Upstream: pkg/registry/certificates/rest/storage_certificates.go, v1Storage
test("trust bundles and PodCertificateRequests are served unless their gates are off", async () => {
  for (const gate of ["ClusterTrustBundle", "PodCertificateRequest"]) {
    const { server, call } = await testServer({ featureGates: new Map([[gate, false]]) });
    const { body } = await call("GET", "/apis/certificates.k8s.io/v1");
    const served = body.resources.map(({ kind }: { kind: string }) => kind);
    for (const kind of ["ClusterTrustBundle", "PodCertificateRequest"])
      assert.equal(served.includes(kind), kind !== gate, `${kind} without ${gate}`);
    await server.close();
  }
});
