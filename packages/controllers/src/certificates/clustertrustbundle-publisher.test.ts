import assert from "node:assert/strict";
import { test } from "node:test";
import { ClusterTrustBundle, PodCertificateRequest } from "@dray/api/certificates/v1";
import { createAuthority, createCertificateRequest } from "@dray/apiserver/pki";
import {
  type ControllerContext,
  servedResources,
  startPodCertificateRequestCleaner,
  startTrustBundlePublisher,
} from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const first = (await createAuthority("first", now)).certificate;
const second = (await createAuthority("second", now)).certificate;
const signerName = "kubernetes.io/kube-apiserver-serving";

const publish =
  (rootCA: string) =>
  async (context: ControllerContext): ReturnType<typeof startTrustBundlePublisher> =>
    startTrustBundlePublisher(context, await servedResources(context), rootCA);

const bundles = async (cluster: TestCluster): Promise<string[]> =>
  (await cluster.list(ClusterTrustBundle))
    .filter(({ spec }) => spec.signerName === signerName)
    .map(({ spec }) => spec.trustBundle);

test("the authority of the API server is published as a trust bundle, and replaced by the next one", () =>
  withCluster(publish(first), async (cluster) => {
    await cluster.create(ClusterTrustBundle, { metadata: { name: "own" }, spec: { trustBundle: second } });
    await cluster.until("published", async () => (await bundles(cluster)).join() === first);
    const [bundle] = (await cluster.list(ClusterTrustBundle)).filter(({ spec }) => spec.signerName);
    assert.match(bundle?.metadata.name ?? "", /^kubernetes\.io:kube-apiserver-serving:[0-9a-f]{24}$/);
    await cluster.client.resource(ClusterTrustBundle).delete({ name: bundle?.metadata.name ?? "" });
    await cluster.until("again", async () => (await bundles(cluster)).join() === first);
    await cluster.restart(async () => {}, publish(second));
    await cluster.until("replaced", async () => (await bundles(cluster)).join() === second);
    assert.ok(await cluster.find(ClusterTrustBundle, "own"));
  }));

test("a release without the kinds has nothing to do", () =>
  withCluster(
    async (context) => {
      const served = await servedResources(context);
      await startTrustBundlePublisher(context, served, first);
      await startPodCertificateRequestCleaner(context, served);
    },
    async (cluster) => {
      await cluster.settle();
      assert.deepEqual(cluster.problems, []);
    },
    { kubernetesVersion: "1.34" },
  ));

test("requests of pods for certificates go after 15 minutes", () =>
  withCluster(
    // Discovery is asked again every 30 seconds, and would time out while time jumps.
    (context) =>
      startPodCertificateRequestCleaner(context, {
        list: [{ kind: PodCertificateRequest, deleteCollection: true }],
      }),
    async (cluster) => {
      const { request } = createCertificateRequest({ commonName: "" });
      const uid = "00000000-0000-4000-8000-000000000000";
      await cluster.create(PodCertificateRequest, {
        metadata: { name: "r" },
        spec: {
          signerName: "example.com/signer",
          ...{ podName: "p", serviceAccountName: "default", nodeName: "n" },
          ...{ podUID: uid, serviceAccountUID: uid, nodeUID: uid },
          maxExpirationSeconds: 3600,
          stubPKCS10Request: request.replace(/-----[^-]*-----|\n/g, ""),
        },
      });
      cluster.clock.advance(14 * 60_000);
      await cluster.settle();
      assert.equal((await cluster.list(PodCertificateRequest)).length, 1);
      cluster.clock.advance(2 * 60_000);
      await cluster.until("gone", async () => (await cluster.list(PodCertificateRequest)).length === 0);
    },
  ));
