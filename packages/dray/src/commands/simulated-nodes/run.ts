import { createAuthority, issueCertificate } from "@dray/apiserver/pki";
import { systemClock } from "@dray/client";
import { runSimulation } from "@dray/driver-simulated";
import { runSimulatedNodes } from "@dray/kubelet/simulated";
import { readFleetFile } from "../../fleet/file.ts";
import { countedNodes, maxSimulatedNodes, simulatedNodes } from "../../fleet/simulated-nodes.ts";
import { keyPair } from "../../options/pem-files.ts";
import { bindAddressOption, featuresOption, wholeNumber } from "../../options/values.ts";
import { type ComponentOptions, component } from "../../process/component.ts";
import { UsageError } from "../../terminal/failure.ts";
import { remark, say } from "../../terminal/verbosity.ts";

export interface SimulatedNodesFlags extends Omit<ComponentOptions, "leaderElect"> {
  readonly count?: string;
  readonly fleet?: string;
  readonly address: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
}

/** Simulates the nodes of the flags and their devices until a signal. */
export async function simulateNodes(options: SimulatedNodesFlags): Promise<void> {
  const features = featuresOption(options);
  const count = options.count === undefined ? 0 : wholeNumber("--count", options.count, 0, maxSimulatedNodes);
  const chosen = { simulatedNodes: count };
  const file =
    options.fleet === undefined
      ? undefined
      : readFleetFile(options.fleet, { features, simulatedNodes: countedNodes(chosen), simulateAll: true });
  for (const note of file?.fleet.notes ?? []) remark(`note: ${note}\n`);
  const nodes = simulatedNodes(chosen, file?.fleet);
  if (nodes.length === 0)
    throw new UsageError(
      "there are no nodes to simulate: give their number with --count, or a file that names some with --fleet",
    );
  const address = bindAddressOption(options.address, "--address");
  const serving = await servingPair(options, address);
  await component("dray-simulated-nodes", options, async ({ client, log, signal }) => {
    const shared = { client, clock: systemClock, log, signal };
    const registered = (): void => say(`${nodes.length} simulated nodes are registered\n`);
    const parts = [
      runSimulatedNodes({
        ...shared,
        ...{ nodes, features, address, registered },
        random: Math.random,
        serving,
      }),
    ];
    const publishedNodes = nodes.map(({ name }) => name);
    if (file !== undefined)
      parts.push(runSimulation({ ...shared, fleet: file.fleet, nodes: [], publishedNodes }));
    return { stopped: Promise.all(parts).then(() => {}) };
  });
}

/** Returns the certificate and key of the flags, or a pair of a new authority. */
async function servingPair(
  { tlsCertFile, tlsPrivateKeyFile }: SimulatedNodesFlags,
  address: string,
): Promise<{ readonly cert: string; readonly key: string }> {
  const given = keyPair(
    { flag: "--tls-cert-file", file: tlsCertFile },
    { flag: "--tls-private-key-file", file: tlsPrivateKeyFile },
  );
  if (given !== undefined) return { cert: given.certificate, key: given.key };
  const now = systemClock.now();
  const authority = await createAuthority("dray-simulated-nodes", now);
  const subject = { commonName: "dray-simulated-nodes", ipAddresses: [address] };
  const { certificate, key } = await issueCertificate(authority, { ...subject, usages: ["server"] }, now);
  return { cert: certificate, key };
}
