import { ClusterTrustBundle } from "@dray/api/certificates/v1";
import { defineServedKind } from "../../define.ts";
import { clusterTrustBundleStrategy } from "./strategy.ts";

export const clusterTrustBundle = defineServedKind(ClusterTrustBundle, {
  facts: {
    gate: "ClusterTrustBundle",
    needsVersion: true,
    fields: ["spec.signerName"],
    storageVersion: { "1.37": "v1beta1" },
    deprecated: {
      v1beta1: { since: "1.37", gone: "1.40", instead: "certificates.k8s.io/v1 ClusterTrustBundle" },
    },
  },
  strategy: clusterTrustBundleStrategy,
});
