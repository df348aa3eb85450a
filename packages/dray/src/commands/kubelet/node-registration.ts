import { isLabelValue, qualifiedName } from "@dray/api";
import type { Taint } from "@dray/api/core/v1";
import { UsageError } from "../../terminal/failure.ts";

/**
 * Labels of Kubernetes that a node may set on itself.
 * Upstream: k8s.io/kubelet, well_known_labels.go
 */
const ownLabels: ReadonlySet<string> = new Set([
  "kubernetes.io/hostname",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
]);
const ownNamespaces = ["kubelet.kubernetes.io", "node.kubernetes.io"];

/**
 * Parses `a=1,b=2`.
 * Upstream: cmd/kubelet/app/options/options.go, ValidateKubeletFlags
 */
export function labelsOption(text: string): Record<string, string> {
  return Object.fromEntries(
    parts(text).map((part) => {
      const [key = "", value] = part.split(/=(.*)/s);
      const refuse = (problem: string): never => {
        throw new UsageError(`--node-labels ${part}: ${problem}`);
      };
      if (value === undefined) refuse("must be KEY=VALUE");
      for (const problem of qualifiedName(key)) refuse(problem);
      for (const problem of isLabelValue(value ?? "")) refuse(problem);
      if (isReserved(key))
        refuse(
          `labels of kubernetes.io and k8s.io must be below one of ${ownNamespaces.join(", ")}, or one of ${[...ownLabels].join(", ")}`,
        );
      return [key, value ?? ""];
    }),
  );
}

function isReserved(key: string): boolean {
  const namespace = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  const isIn = (domain: string): boolean => namespace === domain || namespace.endsWith(`.${domain}`);
  return ["kubernetes.io", "k8s.io"].some(isIn) && !ownLabels.has(key) && !ownNamespaces.some(isIn);
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/**
 * Parses `key=value:NoSchedule,other:NoExecute`.
 * Upstream: pkg/util/taints/taints.go, ParseTaints
 */
export function taintsOption(text: string): Taint[] {
  const seen = new Set<string>();
  return parts(text).map((part) => {
    const refuse = (problem: string): never => {
      throw new UsageError(`--register-with-taints ${part}: ${problem}`);
    };
    const [, key = "", value = "", effect = ""] = /^([^=:]*)(?:=([^=:]*))?:([^:]*)$/.exec(part) ?? [];
    if (!effects.includes(effect))
      refuse(`must be KEY=VALUE:EFFECT or KEY:EFFECT, where EFFECT is one of ${effects.join(", ")}`);
    for (const problem of qualifiedName(key)) refuse(problem);
    for (const problem of isLabelValue(value)) refuse(problem);
    if (seen.has(`${key}:${effect}`)) refuse("there is one with the same key and effect already");
    seen.add(`${key}:${effect}`);
    return { key, effect, ...(value !== "" && { value }) };
  });
}

function parts(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
