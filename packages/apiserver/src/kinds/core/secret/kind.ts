import type { Wire } from "@dray/api";
import { setKey } from "@dray/api/codec";
import { Secret } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import type { Strategy } from "../../strategy.ts";
import { secretColumns } from "./columns.ts";
import { keyPairProblem } from "./key-pair.ts";

/** `stringData` is only for writing: its texts become `data`. */
function foldStringData(secret: Wire<Secret>): void {
  if (!secret.stringData) return;
  const data: Record<string, string> = { ...secret.data };
  for (const [key, text] of Object.entries(secret.stringData)) {
    setKey(data, key, Buffer.from(text, "utf8").toString("base64"));
  }
  secret.data = data;
  delete secret.stringData;
}

const secretStrategy: Strategy<Secret> = {
  /** Warns about a key and a certificate that do not match; they are stored nevertheless. */
  warnings(object) {
    const { type, data } = object;
    if (type !== "kubernetes.io/tls") return [];
    const text = (name: string): string => Buffer.from(data?.[name] ?? "", "base64").toString("latin1");
    const problem = keyPairProblem(text("tls.crt"), text("tls.key"));
    return problem === undefined ? [] : [problem];
  },
};

export const secret = defineServedKind(Secret, {
  facts: { fields: ["type"], fieldError: "core" },
  normalise: foldStringData,
  strategy: secretStrategy,
  columns: secretColumns,
});
