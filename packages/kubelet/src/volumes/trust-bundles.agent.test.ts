import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { featuresOf, type Kind, type KubeObject, parseFeatureGates } from "@dray/api";
import { ClusterTrustBundle } from "@dray/api/certificates/v1";
import {
  type ClusterTrustBundleProjection,
  Event,
  Pod,
  type PodSpec,
  ServiceAccount,
} from "@dray/api/core/v1";
import { createAuthority } from "@dray/apiserver";
import { type Client, type InformerOptions, systemClock } from "@dray/client";
import { eventuallyPasses } from "@dray/testing/eventually";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";
import { TrustBundles } from "./trust-bundles.ts";

const signerName = "example.com/ca";

/** A client that records which kinds are watched. */
function spiedOn(client: Client): { readonly client: Client; readonly followed: string[] } {
  const followed: string[] = [];
  const spy: Client = {
    ...client,
    informer<T extends KubeObject>(kind: Kind<T>, options?: InformerOptions<T>) {
      followed.push(kind.kind);
      return client.informer(kind, options);
    },
  };
  return { client: spy, followed };
}

/** Upstream: pkg/kubelet/clustertrustbundle; test/e2e/auth/projected_clustertrustbundle.go */
let cluster: TestCluster;
let followed: string[];
/** Certificates of authorities. */
let a: string, b: string, c: string;
before(async () => {
  cluster = await testCluster();
  const account = { metadata: { namespace: "default", name: "default" } };
  await cluster.admin.resource(ServiceAccount).create(account);
  const spied = spiedOn(cluster.nodeClient("n1"));
  followed = spied.followed;
  await cluster.node("n1", { client: spied.client });
  [a, b, c] = (await Promise.all(
    ["a", "b", "c"].map(async (name) => (await createAuthority(name, Date.now())).certificate),
  )) as [string, string, string];
  await bundle("plain", undefined, `words before\n${a}between\n${b}after\n`);
  await bundle("example.com:ca:one", signerName, a + c, { live: "true" });
  await bundle("example.com:ca:two", signerName, c, { live: "true" });
  await bundle("example.com:ca:old", signerName, b, { live: "false" });
  await bundle("example.com:other:one", "example.com/other", b, { live: "true" });
});
after(() => cluster.close());

const bundle = (name: string, signer: string | undefined, trustBundle: string, labels = {}) =>
  cluster.admin.resource(ClusterTrustBundle).create({
    metadata: { name, labels },
    spec: { trustBundle, ...(signer !== undefined && { signerName: signer }) },
  });
const ref = (name: string) => ({ namespace: "default", name });
const create = (
  name: string,
  sources: readonly Partial<ClusterTrustBundleProjection>[],
  more: Partial<PodSpec> = {},
  node = "n1",
) =>
  cluster.admin.resource(Pod).create(
    podOn(node, name, {
      volumes: [
        {
          name: "trust",
          projected: {
            sources: sources.map((source, index) => ({
              clusterTrustBundle: { path: `${index}.pem`, ...source },
            })),
          },
        },
      ],
      containers: [{ name: "main", command: ["sleep", "1000"] }],
      ...more,
    }),
  );
const runs = (name: string): Promise<Pod> =>
  podBecomes(cluster.admin, ref(name), ({ status }) => status?.phase === "Running");
const file = (pod: Pod, path: string): string =>
  join(
    cluster.rootDir(pod.spec.nodeName ?? ""),
    "var/lib/kubelet/pods",
    pod.metadata.uid,
    "volumes/kubernetes.io~projected/trust",
    path,
  );
const read = (pod: Pod, path: string): string => readFileSync(file(pod, path), "utf8");
/** The sorted certificates of a file that contains nothing else. */
function anchors(text: string): string[] {
  const found = text.match(/-----BEGIN CERTIFICATE-----\n[^-]+-----END CERTIFICATE-----\n/g) ?? [];
  assert.equal(found.join(""), text);
  return [...found].sort();
}
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

test("cost nothing until a pod has one", async () => {
  await create("none", [], { volumes: [] });
  await runs("none");
  assert.ok(followed.includes("Pod"));
  for (const kind of ["ClusterTrustBundle", "PodCertificateRequest"])
    assert.ok(!followed.includes(kind), kind);
});

test("are those that are named or selected, each certificate once and nothing else", async () => {
  const labelSelector = { matchLabels: { live: "true" } };
  const pod = await create("reader", [
    { name: "plain" },
    { signerName, labelSelector },
    { signerName, labelSelector: {} },
    { signerName, optional: true },
    { signerName, labelSelector: { matchLabels: { live: "unknown" } }, optional: true },
    { name: "missing", optional: true },
  ]);
  await runs("reader");
  assert.deepEqual(anchors(read(pod, "0.pem")), [a, b].sort());
  assert.deepEqual(anchors(read(pod, "1.pem")), [a, c].sort());
  assert.deepEqual(anchors(read(pod, "2.pem")), [a, b, c].sort());
  // Without a selector nothing is selected.
  for (const path of ["3.pem", "4.pem", "5.pem"]) assert.equal(read(pod, path), "", path);
  assert.equal(statSync(file(pod, "0.pem")).mode & 0o777, 0o644);
  // A stable order, so that files do not change without need.
  const another = await create("another", [{ signerName, labelSelector: {} }]);
  await runs("another");
  assert.equal(read(another, "0.pem"), read(pod, "2.pem"));
  assert.equal(followed.filter((kind) => kind === "ClusterTrustBundle").length, 1);
});

test("are there when the containers start", async () => {
  await create("container", [{ name: "plain" }], {
    restartPolicy: "Never",
    containers: [
      {
        name: "main",
        command: ["bash", "-c", 'test "$(grep -c BEGIN "$0")" = 2', "/trust/0.pem"],
        volumeMounts: [{ name: "trust", mountPath: "/trust" }],
      },
    ],
  });
  await podBecomes(cluster.admin, ref("container"), ({ status }) => status?.phase === "Succeeded");
});

test("that are missing keep a pod from starting until they come", async () => {
  const pod = await create("waiting", [{ name: "late" }]);
  await create("unmatched", [{ signerName, labelSelector: { matchLabels: { live: "perhaps" } } }]);
  const failed = 'FailedMount: MountVolume.SetUp failed for volume "trust" : ';
  await reports("waiting", `${failed}clustertrustbundle "late" not found`);
  await reports(
    "unmatched",
    `${failed}combination of signerName and labelSelector matched zero ClusterTrustBundles: signerName "${signerName}", labelSelector "live=perhaps"`,
  );
  const { status } = await cluster.admin.resource(Pod).get(ref("waiting"));
  assert.equal(status?.phase, "Pending");
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  assert.deepEqual(
    [ready?.status, ready?.reason, ready?.message],
    ["False", "ContainersNotReady", "containers with unready status: [main]"],
  );
  await bundle("late", undefined, a);
  await runs("waiting");
  assert.deepEqual(anchors(read(pod, "0.pem")), [a]);
});

test("that change, change in pods that run; those that go stay there", async () => {
  await bundle("example.com:changing:one", "example.com/changing", a);
  const selected = { signerName: "example.com/changing", labelSelector: {} };
  const pod = await create("follower", [selected]);
  await runs("follower");
  const bundles = cluster.admin.resource(ClusterTrustBundle);
  await bundles.patch({ name: "example.com:changing:one" }, "merge", { spec: { trustBundle: b } });
  await eventuallyPasses(() => assert.deepEqual(anchors(read(pod, "0.pem")), [b]));
  await bundle("example.com:changing:two", "example.com/changing", c);
  await eventuallyPasses(() => assert.deepEqual(anchors(read(pod, "0.pem")), [b, c].sort()));
  await bundles.delete({ name: "example.com:changing:one" });
  await eventuallyPasses(() => assert.deepEqual(anchors(read(pod, "0.pem")), [c]));
  await bundles.delete({ name: "example.com:changing:two" });
  await eventuallyPasses(async () => assert.match((await events("follower")).join(), /matched zero/));
  assert.deepEqual(anchors(read(pod, "0.pem")), [c]);
  await runs("follower");
});

test("are the user's or the group's alone where the pod names one", async (context) => {
  if (process.getuid?.() !== 0) return context.skip("not root");
  const pod = await create("closed", [{ name: "plain" }], { securityContext: { fsGroup: 4321 } });
  const owned = await create("owned", [{ name: "plain" }], { securityContext: { runAsUser: 4711 } });
  await Promise.all([runs("closed"), runs("owned")]);
  const ofGroup = statSync(file(pod, "0.pem"));
  assert.deepEqual([ofGroup.gid, ofGroup.mode & 0o777], [4321, 0o640]);
  const ofUser = statSync(file(owned, "0.pem"));
  assert.deepEqual([ofUser.uid, ofUser.mode & 0o777], [4711, 0o600]);
});

test("without their gate on the node are refused with its name", async () => {
  const gates = parseFeatureGates("ClusterTrustBundleProjection=false");
  await cluster.node("n2", { features: featuresOf("1.37", gates) });
  await create("gated", [{ name: "plain" }], {}, "n2");
  await reports(
    "gated",
    'FailedMount: MountVolume.SetUp failed for volume "trust" : clusterTrustBundle sources need the feature gate ClusterTrustBundleProjection on this node',
  );
});

test("a server without trust bundles is an error, and not asked again and again", async () => {
  const cluster = await testCluster({ featureGates: new Map([["ClusterTrustBundle", false]]) });
  try {
    const spied = spiedOn(cluster.admin);
    const bundles = new TrustBundles({
      client: spied.client,
      clock: systemClock,
      newId: randomUUID,
      features: featuresOf("1.37"),
      signal: new AbortController().signal,
      changed: () => {},
    });
    await assert.rejects(
      bundles.read({ name: "any", path: "p" }),
      /cannot read ClusterTrustBundles: the API server does not serve certificates\.k8s\.io\/v1 clustertrustbundles/,
    );
    assert.deepEqual(spied.followed, []);
  } finally {
    await cluster.close();
  }
});
