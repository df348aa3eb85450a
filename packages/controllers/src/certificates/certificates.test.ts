import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { CertificateSigningRequest } from "@dray/api/certificates/v1";
import { Node, Service } from "@dray/api/core/v1";
import { ClusterRoleBinding } from "@dray/api/rbac/v1";
import { createAuthority, createCertificateRequest } from "@dray/apiserver/pki";
import {
  type ControllerContext,
  startCertificateApprover,
  startCertificateRequestCleaner,
  startCertificateSigner,
} from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const authority = await createAuthority("ca", Date.parse("2026-01-01T00:00:00Z"));
const hour = 60 * 60_000;
const node = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
const nodeName = { commonName: "system:node:n1", organizations: ["system:nodes"] };
const client = ["digital signature", "client auth"];
const server = ["digital signature", "server auth"];

type Names = Parameters<typeof createCertificateRequest>[0];

function request(
  name: string,
  signer: string,
  names: Names,
  spec: {
    readonly usages: readonly string[];
    readonly expirationSeconds?: number;
    readonly signerName?: string;
  },
): object {
  return {
    metadata: { name },
    spec: {
      request: Buffer.from(createCertificateRequest(names).request).toString("base64"),
      signerName: `kubernetes.io/${signer}`,
      ...spec,
    },
  };
}

/** Asks as the node n1. */
const ask = (cluster: TestCluster, draft: object): Promise<CertificateSigningRequest> =>
  cluster
    .connect(node.name, ...node.groups)
    .resource(CertificateSigningRequest)
    .create(draft as never);

async function approve(cluster: TestCluster, name: string, type = "Approved"): Promise<void> {
  const present = await cluster.get(CertificateSigningRequest, name);
  const conditions = [{ type, status: "True", reason: "Test", message: "" }];
  await cluster.client
    .resource(CertificateSigningRequest)
    .update({ ...present, status: { conditions } }, { subresource: "approval" });
}

const conditionsOf = async (cluster: TestCluster, name: string): Promise<string[]> =>
  (await cluster.get(CertificateSigningRequest, name)).status?.conditions?.map(
    ({ type, reason, message }) => `${type} ${reason}${message ? `: ${message}` : ""}`,
  ) ?? [];

async function certificateOf(cluster: TestCluster, name: string): Promise<X509Certificate> {
  const text = await cluster.until(`certificate of ${name}`, async () => {
    const { status } = await cluster.get(CertificateSigningRequest, name);
    return status?.certificate;
  });
  return new X509Certificate(Buffer.from(text, "base64"));
}

const signing = (context: ControllerContext): Promise<unknown> =>
  startCertificateSigner(context, { ...authority, duration: 24 * hour });
const all = (context: ControllerContext): Promise<unknown> =>
  Promise.all([startCertificateApprover(context), signing(context)]);

test("approved requests of Kubernetes' signers are signed for as long as they ask, within bounds", () =>
  withCluster(signing, async (cluster) => {
    const jane = { commonName: "jane", organizations: ["dev"] };
    for (const [name, seconds] of [
      ["all", undefined],
      ["hour", 3600],
      ["week", 7 * 24 * 3600],
    ] as const) {
      const more = seconds === undefined ? {} : { expirationSeconds: seconds };
      await cluster.create(
        CertificateSigningRequest,
        request(name, "kube-apiserver-client", jane, { usages: client, ...more }),
      );
    }
    await cluster.settle();
    assert.equal((await cluster.get(CertificateSigningRequest, "all")).status?.certificate, undefined);
    for (const name of ["all", "hour", "week"]) await approve(cluster, name);
    const issued = await certificateOf(cluster, "all");
    assert.ok(issued.verify(new X509Certificate(authority.certificate).publicKey));
    assert.equal(issued.subject, "O=dev\nCN=jane");
    const valid = async (name: string): Promise<number> => {
      const { validFromDate, validToDate } = await certificateOf(cluster, name);
      return (validToDate.getTime() - validFromDate.getTime()) / 60_000;
    };
    assert.deepEqual([await valid("all"), await valid("hour"), await valid("week")], [1440, 65, 1440]);
  }));

test("a rejected request fails with the reason; requests of other signers are left alone", () =>
  withCluster(signing, async (cluster) => {
    const drafts: readonly [string, object, string][] = [
      [
        "usage",
        request("usage", "kube-apiserver-client", { commonName: "jane" }, { usages: server }),
        "invalid usage for client certificate: server auth",
      ],
      [
        "nodes",
        request(
          "nodes",
          "kube-apiserver-client-kubelet",
          { commonName: "system:node:n1" },
          { usages: client },
        ),
        "subject organization is not system:nodes",
      ],
      [
        "san",
        request(
          "san",
          "kube-apiserver-client-kubelet",
          { ...nodeName, dnsNames: ["n1"] },
          { usages: client },
        ),
        "DNS subjectAltNames are not allowed",
      ],
      [
        "serving",
        request("serving", "kubelet-serving", nodeName, { usages: server }),
        "DNS or IP subjectAltName is required",
      ],
    ];
    for (const [name, draft] of drafts) {
      await cluster.create(CertificateSigningRequest, draft);
      await approve(cluster, name);
    }
    const own = request(
      "own",
      "x",
      { commonName: "jane" },
      { usages: client, signerName: "example.com/signer" },
    );
    await cluster.create(CertificateSigningRequest, own);
    await approve(cluster, "own");
    for (const [name, , message] of drafts) {
      await cluster.until(name, async () => (await conditionsOf(cluster, name)).length === 2);
      assert.equal((await conditionsOf(cluster, name))[1], `Failed SignerValidationFailure: ${message}`);
    }
    assert.deepEqual(await conditionsOf(cluster, "own"), ["Approved Test"]);
  }));

test("a node gets its client certificate, and a serving one for the addresses of its Node only", () =>
  withCluster(all, async (cluster) => {
    await ask(cluster, request("client", "kube-apiserver-client-kubelet", nodeName, { usages: client }));
    await certificateOf(cluster, "client");
    const message = "Auto approving self kubelet client certificate after SubjectAccessReview.";
    assert.deepEqual(await conditionsOf(cluster, "client"), [`Approved AutoApproved: ${message}`]);

    const names = { ...nodeName, dnsNames: ["n1"], ipAddresses: ["192.168.7.1"] };
    await ask(cluster, request("early", "kubelet-serving", names, { usages: server }));
    await ask(
      cluster,
      request(
        "greedy",
        "kubelet-serving",
        { ...names, ipAddresses: ["192.168.7.1", "10.0.0.9"] },
        { usages: server },
      ),
    );
    await cluster.settle();
    assert.deepEqual(await conditionsOf(cluster, "early"), [], "the Node is not there yet");
    await cluster.node("n1");
    const addresses = [{ type: "InternalIP", address: "192.168.7.1" }];
    await cluster.client
      .resource(Node)
      .patch({ name: "n1" }, "merge", { status: { addresses } }, { subresource: "status" });
    const issued = await certificateOf(cluster, "early");
    assert.equal(issued.subjectAltName, "DNS:n1, IP Address:192.168.7.1");
    await cluster.settle();
    assert.deepEqual(await conditionsOf(cluster, "greedy"), []);
  }));

test("a node that says it has the name or address of the API server or of another node gets no certificate for it", () =>
  withCluster(all, async (cluster) => {
    await cluster.node("n1");
    await cluster.node("n2");
    const say = (name: string, ...texts: string[]) =>
      cluster.client
        .resource(Node)
        .patch(
          { name },
          "merge",
          { status: { addresses: texts.map((address) => ({ type: "InternalIP", address })) } },
          { subresource: "status" },
        );
    const service = await cluster.get(Service, "kubernetes", "default");
    const stolen = [service.spec!.clusterIP!, "192.168.7.2"];
    await say("n2", "192.168.7.2");
    await say("n1", "192.168.7.1", "kubernetes.default.svc", "localhost", ...stolen);
    const wanted = [
      ...stolen.map((address) => ({ ipAddresses: [address] })),
      ...["kubernetes.default.svc", "localhost"].map((name) => ({ dnsNames: [name] })),
    ];
    for (const [i, names] of wanted.entries())
      await ask(
        cluster,
        request(`theft-${i}`, "kubelet-serving", { ...nodeName, ...names }, { usages: server }),
      );
    await ask(
      cluster,
      request("own", "kubelet-serving", { ...nodeName, ipAddresses: ["192.168.7.1"] }, { usages: server }),
    );
    await certificateOf(cluster, "own");
    await cluster.settle();
    for (const i of wanted.keys()) assert.deepEqual(await conditionsOf(cluster, `theft-${i}`), []);
  }));

test("a request for a node certificate is approved only once its user has the right", () =>
  withCluster(all, async (cluster) => {
    const draft = request("r", "kube-apiserver-client-kubelet", nodeName, { usages: client });
    const group = "system:bootstrappers";
    const asker = cluster.connect("system:bootstrap:abcdef", group, "system:authenticated", "system:masters");
    await asker.resource(CertificateSigningRequest).create(draft as never);
    // Everything is allowed for masters: another user's request is approved as one for any node.
    await certificateOf(cluster, "r");
    assert.match((await conditionsOf(cluster, "r"))[0] ?? "", /Auto approving kubelet client certificate/);

    await cluster.create(ClusterRoleBinding, {
      metadata: { name: "bootstrap" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "system:node-bootstrapper",
      },
      subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: group }],
    });
    const weak = cluster.connect("system:bootstrap:other", group, "system:authenticated");
    const second = request("s", "kube-apiserver-client-kubelet", nodeName, { usages: client });
    await weak.resource(CertificateSigningRequest).create(second as never);
    await cluster.settle();
    assert.deepEqual(await conditionsOf(cluster, "s"), []);
    await cluster.create(ClusterRoleBinding, {
      metadata: { name: "approve" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
      },
      subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: group }],
    });
    await certificateOf(cluster, "s");
  }));

test("requests go an hour after the decision, and undecided ones after a day", () =>
  withCluster(
    (context) => Promise.all([signing(context), startCertificateRequestCleaner(context)]),
    async (cluster) => {
      const jane = { commonName: "jane" };
      for (const name of ["pending", "denied", "issued"])
        await cluster.create(
          CertificateSigningRequest,
          request(name, "kube-apiserver-client", jane, { usages: client }),
        );
      await approve(cluster, "denied", "Denied");
      await approve(cluster, "issued");
      await certificateOf(cluster, "issued");
      await cluster.settle();
      const left = async (): Promise<string> =>
        (await cluster.list(CertificateSigningRequest)).map(({ metadata }) => metadata.name).join();
      cluster.clock.advance(hour - 60_000);
      await cluster.settle();
      assert.equal(await left(), "denied,issued,pending");
      cluster.clock.advance(2 * 60_000);
      await cluster.until("decided ones are gone", async () => (await left()) === "pending");
      cluster.clock.advance(23 * hour);
      await cluster.until("pending is gone", async () => (await left()) === "");
    },
  ));
