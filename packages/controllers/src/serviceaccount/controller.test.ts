import { test } from "node:test";
import { ConfigMap, Namespace, ServiceAccount } from "@dray/api/core/v1";
import {
  type ControllerContext,
  startRootCertificatePublisher,
  startServiceAccountController,
} from "@dray/controllers";
import { withCluster } from "../testing/cluster.ts";

test("each namespace has its service account and its root certificate, also after someone takes them away", () =>
  withCluster(
    (context: ControllerContext) =>
      Promise.all([startServiceAccountController(context), startRootCertificatePublisher(context, "PEM")]),
    async (cluster) => {
      await cluster.create(Namespace, { metadata: { name: "new" }, spec: {} });
      const both = (): Promise<ConfigMap> =>
        cluster.until("both", async () => {
          const account = await cluster.find(ServiceAccount, "default", "new");
          const map = await cluster.find(ConfigMap, "kube-root-ca.crt", "new");
          return account !== undefined && map?.data?.["ca.crt"] === "PEM" && map;
        });
      await both();
      await cluster.client.resource(ServiceAccount).delete({ namespace: "new", name: "default" });
      const maps = cluster.client.resource(ConfigMap);
      const ref = { namespace: "new", name: "kube-root-ca.crt" };
      await maps.patch(ref, "merge", { data: { "ca.crt": "other" } });
      await both();
      await maps.delete(ref);
      await both();
    },
  ));
