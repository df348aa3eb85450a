import type { SourcePlugin } from "../source-plugin.ts";
import { privateFile } from "./private-file.ts";

/** A certificate of the pod (KEP-4317). */
export const podCertificate: SourcePlugin<"podCertificate"> = {
  field: "podCertificate",
  apiReference: "podcertificates",
  // All at once: one source must not wait for the certificate of another.
  track: (pod, { certificates }) => certificates.track(pod),
  async files({ pod, volume, source, index }, mode, { certificates }) {
    const { credentialBundlePath, keyPath, certificateChainPath } = source;
    const { privateKey, certificateChain } = certificates.credentials(pod.metadata.uid, volume, index);
    const files: [path: string | undefined, content: string][] = [
      [credentialBundlePath, privateKey + certificateChain],
      [keyPath, privateKey],
      [certificateChainPath, certificateChain],
    ];
    return files.flatMap(([path, content]) => (path ? [privateFile(pod, path, content, mode)] : []));
  },
  tearDown: (podUid, { certificates }) => certificates.forget(podUid),
};
