import { type Features, featuresOf, parseFeatureGates, parseKubernetesVersion } from "@dray/api";
import { type ClusterStore, parseStore } from "@dray/cluster";
import { UsageError } from "./failure.ts";

export function wholeNumber(flag: string, value: string, least: number, most: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < least || number > most) {
    throw new UsageError(`${flag} ${value}: must be a whole number from ${least} to ${most}`);
  }
  return number;
}

export function storeOption(value: string): ClusterStore {
  try {
    return parseStore(value);
  } catch (error) {
    throw new UsageError(`--store ${value}: ${(error as Error).message}`);
  }
}

/** The rules of the release and gates that the flags name. */
export function featuresOption(flags: {
  readonly kubernetesVersion?: string | undefined;
  readonly featureGates?: string | undefined;
}): Features {
  const version = named("--kubernetes-version", () => parseKubernetesVersion(flags.kubernetesVersion));
  return named("--feature-gates", () => featuresOf(version, parseFeatureGates(flags.featureGates ?? "")));
}

function named<T>(flag: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new UsageError(`${flag}: ${(error as Error).message}`);
  }
}

/** `api/all=true,resource.k8s.io/v1beta1=false`: API versions to serve or not. */
export function runtimeConfigOption(text: string): Record<string, boolean> {
  return Object.fromEntries(
    text
      .split(",")
      .filter((part) => part !== "")
      .map((part) => {
        const [, name, value] = /^([^=]+)(?:=(true|false))?$/.exec(part) ?? [];
        if (name === undefined)
          throw new UsageError(`--runtime-config ${part}: must be API=true or API=false`);
        return [name, value !== "false"];
      }),
  );
}
