import type { KubeObject } from "@dray/api";
import { setKey } from "@dray/api/codec";
import type { Secret } from "@dray/api/core/v1";

/** `stringData` is only for writing: its texts become `data`. */
export function foldStringData(object: KubeObject): void {
  const secret = object as Secret;
  if (secret.stringData === undefined) return;
  const data: Record<string, string> = { ...secret.data };
  for (const [key, text] of Object.entries(secret.stringData)) {
    setKey(data, key, Buffer.from(text, "utf8").toString("base64"));
  }
  secret.data = data;
  delete secret.stringData;
}
