import { Secret } from "@dray/api/core/v1";
import { filesOfKeys, objectRefreshInterval } from "../referenced-objects.ts";
import type { SourcePlugin } from "../source-plugin.ts";

export const secretSource: SourcePlugin<"secret"> = {
  field: "secret",
  apiReference: "secrets",
  async files({ pod, source: { name = "", items, optional } }, mode, { objects }) {
    const missing = `secret "${name}" not found`;
    const found = await objects.get({ pod, kind: Secret, name, missing, optional });
    const data = new Map<string, Buffer>();
    for (const [key, value] of Object.entries(found?.data ?? {}))
      data.set(key, Buffer.from(value as string, "base64"));
    return filesOfKeys(data, { items, mode, optional, problem: "references non-existent secret key" });
  },
  refreshAt: (_, last) => last.at + objectRefreshInterval,
  tearDown: (podUid, { objects }) => objects.forget(podUid),
};
