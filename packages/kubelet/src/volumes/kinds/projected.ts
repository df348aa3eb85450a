import { filesVolume } from "../files-volume.ts";
import { clusterTrustBundle } from "../sources/cluster-trust-bundle.ts";
import { configMapSource } from "../sources/config-map.ts";
import { downwardAPISource } from "../sources/downward-api.ts";
import { podCertificate } from "../sources/pod-certificate.ts";
import { secretSource } from "../sources/secret.ts";
import { serviceAccountToken } from "../sources/service-account-token.ts";

/** Volumes of several sources. A new kind of sources is one file, and one line here. */
export const projected = filesVolume({
  field: "projected",
  name: "projected",
  plugins: [
    configMapSource,
    secretSource,
    downwardAPISource,
    serviceAccountToken,
    clusterTrustBundle,
    podCertificate,
  ],
  sources: ({ sources = [] }) => sources,
});
