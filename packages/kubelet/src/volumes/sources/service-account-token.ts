import type { SourcePlugin } from "../source-plugin.ts";
import { privateFile } from "./private-file.ts";

export const serviceAccountToken: SourcePlugin<"serviceAccountToken"> = {
  field: "serviceAccountToken",
  apiReference: "serviceaccounts",
  files: async ({ pod, volume, source }, mode, { tokens }) => [
    privateFile(pod, source.path, await tokens.get(pod, volume, source), mode),
  ],
  refreshAt: ({ pod, volume, source }, _, { tokens }) => tokens.refreshAt(pod, volume, source.path),
  tearDown: (podUid, { tokens }) => tokens.forget(podUid),
};
