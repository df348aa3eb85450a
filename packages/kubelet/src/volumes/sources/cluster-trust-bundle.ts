import type { SourcePlugin } from "../source-plugin.ts";
import { privateFile } from "./private-file.ts";

/** Trust anchors (KEP-3257). */
export const clusterTrustBundle: SourcePlugin<"clusterTrustBundle"> = {
  field: "clusterTrustBundle",
  apiReference: "clustertrustbundles",
  files: async ({ pod, source }, mode, { trustBundles }) => [
    privateFile(pod, source.path, await trustBundles.read(source), mode),
  ],
};
