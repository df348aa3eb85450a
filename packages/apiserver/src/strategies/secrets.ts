import type { Secret } from "@dray/api/core/v1";
import type { Strategy } from "../kinds/strategy.ts";
import { keyPairProblem } from "./key-pair.ts";

export const secrets: Strategy = {
  /** A pair of key and certificate that does not fit is stored all the same. */
  warnings(object) {
    const { type, data } = object as Secret;
    if (type !== "kubernetes.io/tls") return [];
    const text = (name: string): string => Buffer.from(data?.[name] ?? "", "base64").toString("latin1");
    const problem = keyPairProblem(text("tls.crt"), text("tls.key"));
    return problem === undefined ? [] : [problem];
  },
};
