/** Our own nodes with real containers: the cluster that `dray up --runtime oci` makes. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Node } from "@dray/api/core/v1";
import { eventually } from "@dray/testing/eventually";
import { program as drayProgram, environment } from "../../scripts/clone.js";
import { connect } from "../credentials.ts";
import { assertRuns, start } from "../processes.ts";
import { releaseFlag } from "../release.ts";
import type { SuiteCluster, SuiteClusterOptions } from "./clusters.ts";
import { packLayout } from "./image-layout.ts";
import type { Images } from "./images.ts";
import { serveImages } from "./registry.ts";

interface DrayClusterOptions extends Omit<SuiteClusterOptions, "images"> {
  readonly images: Pick<Images, "layout">;
}

/**
 * Starts it with more flags and its data in the folder; resolves when all nodes are ready and have the
 * images.
 */
export async function startDrayCluster(
  { folder, images, nodes }: DrayClusterOptions,
  ...flags: readonly string[]
): Promise<SuiteCluster> {
  const data = `--data-dir=${join(folder, "data")}`;
  const env = { ...environment, ...process.env, KUBECONFIG: join(folder, "other.kubeconfig") };
  const words = async (...args: string[]): Promise<string[]> => [
    ...process.execArgv,
    ...(await drayProgram([...args, data])),
  ];
  const run = async (...args: string[]): Promise<void> => {
    const { status, stderr } = spawnSync(process.execPath, await words(...args), { encoding: "utf8", env });
    if (status !== 0) throw new Error(`dray ${args.join(" ")}: ${stderr}`);
  };
  // Images are loaded below, but policy Always pulls them again, from this registry. Specs run registries of
  // their own on this machine: images that this one lacks are pulled from the registry in their name.
  const registries = join(folder, "registries");
  mkdirSync(join(registries, "_default"), { recursive: true });
  const runtime = ["--runtime=oci", `--registry-hosts=${registries}`];
  const up = await words("up", ...runtime, `--nodes=${nodes}`, releaseFlag, ...flags);
  const registry = await serveImages(images.layout, "127.0.0.1");
  writeFileSync(join(registries, "_default", "hosts.toml"), `[host.${JSON.stringify(registry.url)}]\n`);
  const program = start("dray up", [process.execPath, ...up], join(folder, "up.log"), env);
  const stop = async (): Promise<void> => {
    await program.stop();
    registry.close();
    await run("down", "--delete-data");
  };
  const kubeconfig = join(folder, "data", "kubeconfig");
  try {
    await eventually(
      "the nodes are ready",
      async () => {
        assertRuns(program);
        const admin = await connect(kubeconfig).catch(() => undefined);
        try {
          const { items = [] } = (await admin?.resource(Node).list()) ?? {};
          const ready = items.filter(({ status }) =>
            status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"),
          );
          return ready.length === nodes;
        } catch {
          return false;
        } finally {
          admin?.close();
        }
      },
      180_000,
    );
    await run("image", "load", packLayout(images.layout));
    return { kubeconfig, programs: [program], stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
