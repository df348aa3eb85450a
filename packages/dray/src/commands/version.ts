import { readFileSync } from "node:fs";
import { kubernetesVersions } from "@dray/api";
import { printData } from "../output.ts";

export async function version(options: { output?: "json" | "yaml" }): Promise<void> {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  const facts = { dray: manifest.version, node: process.versions.node, kubernetes: kubernetesVersions };
  if (options.output !== undefined) return printData(facts, options.output);
  process.stdout.write(
    `dray ${facts.dray}, Node ${facts.node}, Kubernetes ${kubernetesVersions.join(", ")}\n`,
  );
}
