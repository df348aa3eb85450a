import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import { bits, integer, objectId, sequence, set, tagged, utf8 } from "../../../certificates/der.ts";
import { type CallOptions, testServer } from "../../../testing/server.ts";

const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/** A PKCS#10 request as a kubelet makes it, in base64 as the API has bytes. */
function certificateRequest(commonName: string, organization: string, honest = true): string {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const attribute = (id: string, value: string): Buffer => set(sequence(objectId(id), utf8(value)));
  const subject = sequence(attribute("2.5.4.10", organization), attribute("2.5.4.3", commonName));
  const info = sequence(
    integer(Buffer.from([0])),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa0),
  );
  const signed = sign("sha256", honest ? info : Buffer.from("other"), privateKey);
  const der = sequence(info, sequence(objectId("1.2.840.10045.4.3.2")), bits(signed));
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
  return Buffer.from(pem).toString("base64");
}

const draft = (name: string, request: string, spec: object = {}): CallOptions => ({
  body: {
    metadata: { name },
    spec: {
      request,
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["client auth"],
      ...spec,
    },
  },
});

test("the credential sets the requester; approval and signing are separate subresources", async () => {
  const tested = await testServer();
  const request = certificateRequest("system:node:n1", "system:nodes");
  const made = await tested.call("POST", path, {
    ...draft("a", request, { username: "somebody", groups: ["system:masters"] }),
    credential: { type: "user", user: { name: "jane", groups: ["system:masters"], uid: "7" } },
  });
  assert.equal(made.status, 201, made.body.message);
  assert.equal(made.body.spec.username, "jane");
  assert.equal(made.body.spec.uid, "7");
  const conditions = [{ type: "Approved", status: "True", reason: "r", message: "m" }];
  const bySigner = await tested.call("PATCH", `${path}/a/status`, { body: { status: { conditions } } });
  assert.equal(bySigner.status, 422);
  assert.match(bySigner.body.message, /updates may not add a condition of type "Approved"/);
  const approved = await tested.call("PATCH", `${path}/a/approval`, {
    body: { spec: { signerName: "example.com/other" }, status: { conditions, certificate: "eA==" } },
  });
  assert.equal(approved.status, 200, approved.body.message);
  assert.equal(approved.body.spec.signerName, "kubernetes.io/kube-apiserver-client-kubelet");
  assert.equal(approved.body.status.certificate, undefined);
  assert.ok(approved.body.status.conditions[0].lastUpdateTime);
  const back = await tested.call("PATCH", `${path}/a/approval`, { body: { status: { conditions: [] } } });
  assert.match(back.body.message, /updates may not remove a condition of type "Approved"/);

  const forged = certificateRequest("system:node:n1", "system:nodes", false);
  const refused = await tested.call("POST", path, draft("b", forged));
  assert.equal(refused.body.details.causes[0].field, "spec.request");
  const masters = certificateRequest("evil", "system:masters");
  const escalating = await tested.call(
    "POST",
    path,
    draft("c", masters, { signerName: "kubernetes.io/kube-apiserver-client" }),
  );
  assert.equal(escalating.status, 403);
  const node: CallOptions = {
    credential: { type: "user", user: { name: "system:node:n2", groups: ["system:nodes"] } },
  };
  const foreign = await tested.call("POST", path, { ...draft("d", request), ...node });
  assert.match(foreign.body.message, /can only create a node CSR with CN=system:node:n2$/);
  await tested.server.close();
});
