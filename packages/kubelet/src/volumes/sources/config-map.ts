import { ConfigMap } from "@dray/api/core/v1";
import { filesOfKeys, objectRefreshInterval } from "../referenced-objects.ts";
import type { SourcePlugin } from "../source-plugin.ts";

export const configMapSource: SourcePlugin<"configMap"> = {
  field: "configMap",
  apiReference: "configmaps",
  async files({ pod, source: { name = "", items, optional } }, mode, { objects }) {
    const missing = `configmap "${name}" not found`;
    const found = await objects.get({ pod, kind: ConfigMap, name, missing, optional });
    const data = new Map<string, Buffer>();
    for (const [key, value] of Object.entries(found?.data ?? {})) data.set(key, Buffer.from(value));
    for (const [key, value] of Object.entries(found?.binaryData ?? {}))
      data.set(key, Buffer.from(value as string, "base64"));
    const problem = "configmap references non-existent config key";
    return filesOfKeys(data, { items, mode, optional, problem });
  },
  refreshAt: (_, last) => last.at + objectRefreshInterval,
  tearDown: (podUid, { objects }) => objects.forget(podUid),
};
