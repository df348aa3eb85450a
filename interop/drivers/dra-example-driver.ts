import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestCluster } from "@dray/cluster/testing";
import { freePorts } from "@dray/testing/ports";
import { peer, peersFolder } from "../peers.ts";
import { start } from "../processes.ts";
import { readReport, type SpecResult } from "../suites/report.ts";
import { startCertManager } from "./cert-manager.ts";
import type { DriverTrial, TrialContext } from "./trial.ts";

/**
 * Gates that upstream's cluster for the suite turns on, beyond the defaults of the release.
 * Upstream: demo/scripts/kind-cluster-config.yaml
 */
const featureGates = [
  "DRAWorkloadResourceClaims",
  "GangScheduling",
  "GenericWorkload",
  "DRANodeAllocatableResources",
  "DRAConsumableCapacity",
  "DRADeviceBindingConditions",
  "DRAExtendedResource",
];

/** Specs that are left out, and what Dray lacks for them. May only shrink. */
const excludedSpecs: readonly (readonly [spec: string, reason: string])[] = [
  ["Should share 1 GPU among the Pods in each of 2 PodGroups", "claims of PodGroups are made for each pod"],
  [
    "should account for native CPU resources",
    "the scheduler does not count devices that stand for resources of the node",
  ],
];

/** They install two drivers, whose ports are the machine's where containers have no network of their own. */
const twoDrivers = "with partitionable devices";

/**
 * dra-example-driver with its chart, its demos and its own end-to-end suite: each spec installs the kubelet
 * plugin, and controller or webhook, with Helm and the profile that the spec is about.
 */
export const draExampleDriver: DriverTrial = {
  name: "dra-example-driver",
  programs: [
    "dra-example-kubeletplugin",
    "dra-example-controller",
    "dra-example-webhook",
    "dra-example-e2e",
    "dra-example-driver",
  ],
  cluster: () => ({
    kubernetesVersion: "1.36",
    featureGates: featureGates.map((gate) => `${gate}=true`).join(","),
    runtimeConfig: { "resource.k8s.io/v1beta1": true, "scheduling.k8s.io/v1alpha2": true },
    // The pods of the chart name their programs.
    images: [
      { pattern: "registry.k8s.io/dra-example-driver/dra-example-driver:*", command: [`${peersFolder()}/`] },
    ],
  }),
  async run(cluster, context) {
    const end = new AbortController();
    const failures: unknown[] = [];
    try {
      await startCertManager(cluster.client, end.signal, (error) => failures.push(error));
      const [health = 0, metrics = 0, webhook = 0] = await freePorts(3);
      const skipped = [twoDrivers, ...excludedSpecs.map(([spec]) => spec)].map(
        (spec) => `-ginkgo.skip=${spec}`,
      );
      const specs = [
        ...(await runSpecs(cluster, context, { name: "one", ports: { health, metrics, webhook } }, skipped)),
        ...(await runSpecs(cluster, context, { name: "two", ports: { health: -1, metrics: -1, webhook } }, [
          `-ginkgo.focus=${twoDrivers}`,
        ])),
      ];
      const failed = specs.filter(({ failure }) => failure !== undefined);
      context.print(`${specs.length - failed.length} of ${specs.length} specs passed`);
      for (const [spec, reason] of excludedSpecs) context.print(`not run: ${spec}: ${reason}`);
      if (failed.length > 0)
        throw new Error(failed.map(({ name, failure }) => `${name}: ${failure}`).join("\n"));
      if (failures.length > 0) throw new AggregateError(failures, "cert-manager's part failed");
    } finally {
      end.abort();
    }
  },
};

/** Which of the chart's default values a run changes; a port of -1 is not opened. */
interface Release {
  readonly name: string;
  readonly ports: Readonly<Record<"health" | "metrics" | "webhook", number>>;
}

async function runSpecs(
  { kubeconfig }: TestCluster,
  { folder, print }: TrialContext,
  release: Release,
  flags: readonly string[],
): Promise<readonly SpecResult[]> {
  const report = join(folder, `${release.name}.json`);
  const log = join(folder, `${release.name}.log`);
  print(`upstream's suite runs: ${log}`);
  const suite = start(
    "dra-example-driver's suite",
    [
      peer("dra-example-e2e"),
      "-test.timeout=30m",
      "-ginkgo.no-color",
      "-ginkgo.v",
      `-ginkgo.json-report=${report}`,
      `-demo-manifests-dir=${join(peer("dra-example-driver"), "examples")}`,
      ...flags,
    ],
    log,
    {
      ...process.env,
      KUBECONFIG: kubeconfig,
      HELM_CHART_PATH: chart(folder, release),
      HELM_CACHE_HOME: join(folder, "helm"),
    },
  );
  await suite.exited;
  const tail = (): string => readFileSync(log, "utf8").slice(-4000);
  if (!existsSync(report)) throw new Error(`the suite wrote no report and ${suite.ended}:\n${tail()}`);
  const { specs, skipped } = readReport(readFileSync(report, "utf8"));
  if (specs.length === 0) throw new Error(`no spec was run:\n${tail()}`);
  return [...specs, ...skipped.map(({ name, reason }) => ({ name, seconds: 0, failure: reason }))];
}

/** A copy of the chart with ports of this machine that are free: the suite can set no values. */
function chart(folder: string, { name, ports }: Release): string {
  const copy = join(folder, `chart-${name}`);
  cpSync(join(peer("dra-example-driver"), "chart"), copy, { recursive: true });
  const file = join(copy, "values.yaml");
  let values = readFileSync(file, "utf8");
  for (const [key, standard, port] of [
    ["healthcheckPort", 51515, ports.health],
    ["metricsPort", 8080, ports.metrics],
    ["containerPort", 443, ports.webhook],
  ] as const) {
    const line = `${key}: ${standard}\n`;
    if (!values.includes(line)) throw new Error(`${file}: has no line ${line.trim()}`);
    values = values.replace(line, `${key}: ${port}\n`);
  }
  writeFileSync(file, values);
  return copy;
}
