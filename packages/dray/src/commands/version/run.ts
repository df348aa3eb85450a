import { kubernetesVersions } from "@dray/api";
import { drayVersion } from "../../process/dray-version.ts";
import { printData } from "../../terminal/print-data.ts";

export async function version(options: { output?: "json" | "yaml" }): Promise<void> {
  const facts = { dray: drayVersion(), node: process.versions.node, kubernetes: kubernetesVersions };
  if (options.output !== undefined) return printData(facts, options.output);
  process.stdout.write(
    `dray ${facts.dray}, Node ${facts.node}, Kubernetes ${kubernetesVersions.join(", ")}\n`,
  );
}
