import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { featuresOf, parseFeatureGates } from "@dray/api";
import { PodCertificateRequest } from "@dray/api/certificates/v1";
import { Event, Node, Pod, type PodCertificateProjection, ServiceAccount } from "@dray/api/core/v1";
import { createAuthority } from "@dray/apiserver";
import { signCertificateRequest } from "@dray/apiserver/pki";
import { skipClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { freePorts } from "@dray/testing/ports";
import type { Kubelet } from "../index.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

/** Signs automatically; requests to other signers are decided in the tests. */
const signerName = "example.com/automatic";
const manual = "example.com/manual";
const minute = 60_000;
const seconds = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

/** Upstream: pkg/kubelet/podcertificate; test/e2e/auth/projected_podcertificate.go */
let cluster: TestCluster;
let authority: Awaited<ReturnType<typeof createAuthority>>;
const clock = skipClock();
const end = new AbortController();
let node: Kubelet;
let readOnlyPort: number;

before(async () => {
  cluster = await testCluster();
  authority = await createAuthority("signer", Date.now());
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
  [readOnlyPort = 0] = await freePorts(1);
  node = await cluster.node("n1", { clock, random: () => 0.5, readOnlyPort });
  const signer = cluster.admin.informer(PodCertificateRequest, {
    fieldSelector: `spec.signerName=${signerName}`,
  });
  signer.handle({ add: (request) => void issue(request) });
  await signer.start(end.signal);
});
after(async () => {
  end.abort();
  await cluster.close();
});

const requests = () => cluster.admin.resource(PodCertificateRequest);
const ref = (name: string) => ({ namespace: "default", name });
const setStatus = ({ metadata: { namespace, name } }: PodCertificateRequest, status: object) =>
  requests().patch({ namespace, name }, "merge", { status }, { subresource: "status" });
const condition = (type: string, reason: string, message: string) => ({
  conditions: [{ type, status: "True", reason, message, lastTransitionTime: seconds(Date.now()) }],
});
/** Signs a certificate of an hour, which is refreshed after 15 minutes. */
function issue(request: PodCertificateRequest): Promise<unknown> {
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${request.spec.stubPKCS10Request}\n-----END CERTIFICATE REQUEST-----\n`;
  const certificate = signCertificateRequest(authority, Buffer.from(pem).toString("base64"), {
    usages: ["client auth"],
    duration: 55 * minute,
    now: Date.now() + 4 * minute,
  });
  const { validFromDate: from, validToDate: to } = new X509Certificate(certificate);
  return setStatus(request, {
    ...condition("Issued", "Issued", ""),
    // Text between the certificates is removed for pods.
    certificateChain: `of the pod\n${certificate}of its signer\n${authority.certificate}`,
    notBefore: seconds(from.getTime()),
    notAfter: seconds(to.getTime()),
    beginRefreshAt: seconds(from.getTime() + 15 * minute),
  });
}
const create = (name: string, sources: readonly PodCertificateProjection[], on = "n1") =>
  cluster.admin.resource(Pod).create(
    podOn(on, name, {
      volumes: [
        {
          name: "tls",
          projected: { sources: sources.map((podCertificate) => ({ podCertificate })), defaultMode: 0o444 },
        },
      ],
      containers: [{ name: "main", command: ["sleep", "1000"] }],
    }),
  );
const runs = (name: string): Promise<Pod> =>
  podBecomes(cluster.admin, ref(name), ({ status }) => status?.phase === "Running");
const file = (pod: Pod, path: string): string =>
  join(
    cluster.rootDir("n1"),
    "var/lib/kubelet/pods",
    pod.metadata.uid,
    "volumes/kubernetes.io~projected/tls",
    path,
  );
const read = (pod: Pod, path: string): string => readFileSync(file(pod, path), "utf8");
async function requestsOf(pod: Pod): Promise<PodCertificateRequest[]> {
  const { items } = await requests().list({ namespace: "default" });
  return items.filter(({ spec }) => spec.podUID === pod.metadata.uid);
}
const requestOf = (pod: Pod): Promise<PodCertificateRequest> =>
  eventuallyPasses(async () => {
    const [first, ...others] = await requestsOf(pod);
    assert.ok(first !== undefined && others.length === 0);
    return first;
  });
async function events(name: string): Promise<string[]> {
  const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
  return items
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`);
}
const reports = (name: string, text: string): Promise<void> =>
  eventuallyPasses(async () => {
    const reported = await events(name);
    assert.ok(reported.includes(text), reported.join("\n"));
  });
const mount = 'FailedMount: MountVolume.SetUp failed for volume "tls" : ';

test("have a key of each type, and the chain that was issued for it", async () => {
  const types: readonly (readonly [keyType: string, type: string, detail: string | number | undefined])[] = [
    ["RSA3072", "rsa", 3072],
    ["RSA4096", "rsa", 4096],
    ["ECDSAP256", "ec", "prime256v1"],
    ["ECDSAP384", "ec", "secp384r1"],
    ["ECDSAP521", "ec", "secp521r1"],
    ["ED25519", "ed25519", undefined],
  ];
  const pod = await create(
    "all-types",
    types.map(([keyType]) => ({
      signerName,
      keyType,
      keyPath: `${keyType}/key.pem`,
      certificateChainPath: `${keyType}/chain.pem`,
      credentialBundlePath: `${keyType}/bundle.pem`,
    })),
  );
  await runs("all-types");
  for (const [keyType, type, detail] of types) {
    const key = read(pod, `${keyType}/key.pem`);
    const chain = read(pod, `${keyType}/chain.pem`);
    assert.match(key, /^-----BEGIN PRIVATE KEY-----\n/);
    const { asymmetricKeyType, asymmetricKeyDetails: details } = createPrivateKey(key);
    assert.deepEqual(
      [asymmetricKeyType, details?.modulusLength ?? details?.namedCurve],
      [type, detail],
      keyType,
    );
    assert.match(
      chain,
      /^(-----BEGIN CERTIFICATE-----\n[A-Za-z0-9+/=\n]+-----END CERTIFICATE-----\n){2}$/,
      keyType,
    );
    assert.ok(new X509Certificate(chain).checkPrivateKey(createPrivateKey(key)), keyType);
    assert.ok(chain.endsWith(authority.certificate));
    assert.equal(read(pod, `${keyType}/bundle.pem`), key + chain);
    assert.equal(statSync(file(pod, `${keyType}/key.pem`)).mode & 0o777, 0o444);
  }
  // A fast signer causes no failure of a pod.
  assert.deepEqual(
    (await events("all-types")).filter((event) => event.startsWith("FailedMount")),
    [],
  );
});

test("are requested in the name of the pod, which waits for the signer", async () => {
  const userAnnotations = { "example.com/path": "/workload" };
  const pod = await create("waiting", [
    { signerName: manual, keyType: "ED25519", keyPath: "key", maxExpirationSeconds: 7200, userAnnotations },
  ]);
  const request = await requestOf(pod);
  const { metadata, spec } = request;
  const { stubPKCS10Request: _, ...rest } = spec;
  const account = await cluster.admin.resource(ServiceAccount).get(ref("default"));
  assert.deepEqual(rest, {
    signerName: manual,
    podName: "waiting",
    podUID: pod.metadata.uid,
    serviceAccountName: "default",
    serviceAccountUID: account.metadata.uid,
    nodeName: "n1",
    nodeUID: (await cluster.admin.resource(Node).get({ name: "n1" })).metadata.uid,
    maxExpirationSeconds: 7200,
    unverifiedUserAnnotations: userAnnotations,
  });
  assert.deepEqual(metadata.ownerReferences, [
    { apiVersion: "v1", kind: "Pod", name: "waiting", uid: pod.metadata.uid },
  ]);
  await reports(
    "waiting",
    `${mount}credential bundle is not issued yet: signer ${manual} has not decided on PodCertificateRequest default/${metadata.name}`,
  );
  assert.equal((await cluster.admin.resource(Pod).get(ref("waiting"))).status?.phase, "Pending");
  await issue(request);
  await runs("waiting");
  assert.match(read(pod, "key"), /PRIVATE KEY/);
});

test("that are denied or failed keep the pod from starting, with the signer's reason", async () => {
  for (const [name, type, how] of [
    ["denied", "Denied", "was denied"],
    ["failed", "Failed", "failed"],
  ] as const) {
    const pod = await create(name, [{ signerName: manual, keyType: "ECDSAP256", keyPath: "key" }]);
    const request = await requestOf(pod);
    await setStatus(request, condition(type, "UnsupportedKeyType", "use ED25519"));
    const text = 'reason="UnsupportedKeyType" message="use ED25519"';
    await reports(name, `${type}: PodCertificateRequest default/${request.metadata.name} ${how}, ${text}`);
    await reports(name, `${mount}PodCertificateRequest was permanently ${name}: ${text}`);
    assert.equal((await cluster.admin.resource(Pod).get(ref(name))).status?.phase, "Pending");
    assert.equal((await requestsOf(pod)).length, 1);
  }
});

test("whose request is deleted are requested again", async () => {
  const pod = await create("deleted", [{ signerName: manual, keyType: "ED25519", keyPath: "key" }]);
  const { metadata } = await requestOf(pod);
  await requests().delete(ref(metadata.name));
  const again = await requestOf(pod);
  assert.notEqual(again.metadata.uid, metadata.uid);
  await issue(again);
  await runs("deleted");
});

test("that cannot be requested report the reason, until they can", async () => {
  const { nodeName: _, ...spec } = podOn("n1", "accountless", {
    serviceAccountName: "own",
    volumes: [
      {
        name: "tls",
        projected: { sources: [{ podCertificate: { signerName, keyType: "ED25519", keyPath: "key" } }] },
      },
    ],
    containers: [{ name: "main", command: ["sleep", "1000"] }],
  }).spec;
  const accounts = cluster.admin.resource(ServiceAccount);
  const account = { metadata: ref("own") };
  await accounts.create(account);
  const pods = cluster.admin.resource(Pod);
  const pod = await pods.create({ metadata: ref("accountless"), spec });
  await accounts.delete(ref("own"));
  const target = { apiVersion: "v1", kind: "Node", name: "n1" };
  await pods.post(ref("accountless"), "binding", {
    apiVersion: "v1",
    kind: "Binding",
    metadata: ref("accountless"),
    target,
  });
  await reports(
    "accountless",
    `${mount}credential bundle is not issued yet: while fetching service account: serviceaccounts "own" not found`,
  );
  assert.deepEqual(await requestsOf(pod), []);
  await accounts.create(account);
  await runs("accountless");
});

test("are counted by signer and state", async () => {
  const metrics = await (await fetch(`http://127.0.0.1:${readOnlyPort}/metrics`)).text();
  assert.match(metrics, /^# TYPE kubelet_podcertificate_states gauge$/m);
  const count = (signer: string, state: string): string | undefined =>
    new RegExp(
      `^kubelet_podcertificate_states\\{signer_name="${signer}",state="${state}"\\} (\\d+)$`,
      "m",
    ).exec(metrics)?.[1];
  assert.equal(count(signerName, "fresh"), "7");
  assert.equal(count(manual, "fresh"), "2");
  assert.equal(count(manual, "denied"), "1");
  assert.equal(count(manual, "failed"), "1");
});

test("are refreshed when their signer says so, in pods that run", async () => {
  const pod = await create("refreshed", [
    { signerName: manual, keyType: "ED25519", credentialBundlePath: "bundle" },
  ]);
  const first = await requestOf(pod);
  await issue(first);
  await runs("refreshed");
  const bundle = read(pod, "bundle");
  // Valid since a minute ago: after 15 minutes, and half of the 5 of jitter.
  clock.skip(16 * minute);
  // Several times as long as a request takes.
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal((await requestsOf(pod)).length, 1);
  clock.skip(minute);
  const second = await eventuallyPasses(async () => {
    const newer = (await requestsOf(pod)).find(({ metadata }) => metadata.uid !== first.metadata.uid);
    assert.ok(newer !== undefined);
    return newer;
  });
  assert.notEqual(second.spec.stubPKCS10Request, first.spec.stubPKCS10Request);
  // The pod keeps the old one, and an event reports when it gets old.
  assert.equal(read(pod, "bundle"), bundle);
  clock.skip(11 * minute);
  await reports("refreshed", "CertificateOverdueForRefresh: PodCertificate refresh overdue");
  assert.ok(!(await events("refreshed")).join().includes("CertificateExpired"));
  clock.skip(35 * minute);
  await reports("refreshed", "CertificateExpired: PodCertificate expired");
  await issue(second);
  await eventuallyPasses(() => assert.notEqual(read(pod, "bundle"), bundle));
  const renewed = read(pod, "bundle");
  const certificate = renewed.slice(renewed.indexOf("-----BEGIN CERTIFICATE"));
  assert.ok(new X509Certificate(certificate).checkPrivateKey(createPrivateKey(renewed)));
  assert.equal((await runs("refreshed")).status?.containerStatuses?.[0]?.restartCount, 0);
});

test("are issued anew for another agent, which leaves the containers alone", async () => {
  const pod = await create("kept", [{ signerName, keyType: "ED25519", keyPath: "key" }]);
  const { status } = await runs("kept");
  const key = read(pod, "key");
  await node.stop({ leavePods: true });
  node = await cluster.node("n1");
  await eventuallyPasses(() => assert.notEqual(read(pod, "key"), key));
  const after = await runs("kept");
  assert.equal(
    after.status?.containerStatuses?.[0]?.containerID,
    status?.containerStatuses?.[0]?.containerID,
  );
});

test("without their gate on the node are refused with its name, and nothing is requested", async () => {
  await cluster.node("n2", {
    features: featuresOf("1.37", parseFeatureGates("PodCertificateRequest=false")),
  });
  const pod = await create("gated", [{ signerName, keyType: "ED25519", keyPath: "key" }], "n2");
  await reports(
    "gated",
    `${mount}podCertificate sources need the feature gate PodCertificateRequest on this node`,
  );
  assert.deepEqual(await requestsOf(pod), []);
});
