import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap, Secret } from "@dray/api/core/v1";
import { timeText } from "@dray/client";
import { startBootstrapSigner, startTokenCleaner } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const bootstrapToken = (cluster: TestCluster, id: string, more: Record<string, string>): Promise<Secret> =>
  cluster.create(Secret, {
    metadata: { namespace: "kube-system", name: `bootstrap-token-${id}` },
    type: "bootstrap.kubernetes.io/token",
    stringData: { "token-id": id, "token-secret": "0123456789abcdef", ...more },
  });

test("bootstrap tokens: the cluster's kubeconfig is signed with those that may, and expired ones are deleted", () =>
  withCluster(
    (context) => Promise.all([startBootstrapSigner(context), startTokenCleaner(context)]),
    async (cluster) => {
      const expiration = timeText(cluster.clock.now() + 60_000);
      await bootstrapToken(cluster, "abcdef", { "usage-bootstrap-signing": "true", expiration });
      await bootstrapToken(cluster, "nosign", { "usage-bootstrap-authentication": "true" });
      await cluster.create(ConfigMap, {
        metadata: { namespace: "kube-public", name: "cluster-info" },
        data: { kubeconfig: "hello" },
      });
      const keys = async (): Promise<string> =>
        Object.keys((await cluster.get(ConfigMap, "cluster-info", "kube-public")).data ?? {})
          .sort()
          .join();
      await cluster.until("signed", async () => (await keys()) === "jws-kubeconfig-abcdef,kubeconfig");
      // As k8s.io/cluster-bootstrap/token/jws computes it.
      const map = await cluster.get(ConfigMap, "cluster-info", "kube-public");
      assert.equal(
        map.data?.["jws-kubeconfig-abcdef"],
        "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..MxsnbCjBaYzcbNIFa06F-wuF9LX26rhMlrL4zA1511s",
      );
      cluster.clock.advance(61_000);
      await cluster.until("unsigned", async () => (await keys()) === "kubeconfig");
      const left = await cluster.list(Secret, "kube-system");
      assert.deepEqual(
        left.map(({ metadata }) => metadata.name),
        ["bootstrap-token-nosign"],
      );
    },
  ));
