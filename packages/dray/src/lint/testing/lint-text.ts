/** Lints manifests as texts. */
import { featuresOf, parseFeatureGates, parseKubernetesVersion } from "@dray/api";
import type { DecodeOptions } from "../../manifests/decode.ts";
import { type Existing, readObjects } from "../../manifests/read.ts";
import { Selectors } from "../../manifests/selectors.ts";
import { sourceOf } from "../../manifests/source.ts";
import { TrialServer } from "../../trial-server/server.ts";
import type { Finding } from "../finding.ts";
import { lint } from "../lint.ts";
import { type ServedKind, servedBy } from "../served.ts";

export interface LintTextOptions {
  /** Manifests of the cluster. */
  readonly cluster?: string;
  /** The cluster runs. */
  readonly isLive?: boolean;
  readonly version?: string;
  readonly gates?: string;
  readonly runtimeConfig?: Readonly<Record<string, boolean>>;
  readonly found?: readonly ServedKind[];
}

/** Returns the findings for a text, whose file name is `in.yaml`. */
export async function lintText(
  text: string,
  { cluster, isLive = false, version, gates = "", runtimeConfig = {}, found }: LintTextOptions = {},
): Promise<readonly Finding[]> {
  const kubernetesVersion = parseKubernetesVersion(version);
  const featureGates = parseFeatureGates(gates);
  const features = featuresOf(kubernetesVersion, featureGates);
  const options: DecodeOptions = {
    features,
    namespace: "default",
    selectors: new Selectors(features),
    now: "2026-01-01T00:00:00Z",
  };
  const server = await TrialServer.start({ kubernetesVersion, featureGates });
  try {
    const { findings } = await lint({
      sources: { sources: [sourceOf("in.yaml", text)], problems: [] },
      cluster: cluster === undefined ? undefined : existing(cluster, options),
      isLive,
      served: servedBy(features, runtimeConfig, found),
      options,
      now: () => Date.UTC(2026, 0, 1),
      server,
    });
    return findings;
  } finally {
    await server.close();
  }
}

function existing(text: string, options: DecodeOptions): Existing {
  if (text === "") return { objects: [], unreadable: new Set() };
  const { world, problems } = readObjects(
    { sources: [sourceOf("cluster.yaml", text)], problems: [] },
    options,
  );
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return { objects: world.objects, unreadable: new Set() };
}
