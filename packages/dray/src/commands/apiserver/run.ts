import { randomUUID } from "node:crypto";
import { parseFeatureGates } from "@dray/api";
import { systemClock } from "@dray/client";
import {
  addToKubeconfigs,
  checkKubeconfigs,
  checkStoreVersion,
  choosePort,
  deviceUsage,
  ensureCredentials,
  kubeconfigFiles,
  openStore,
  podsOfThisMachine,
  prepareDataDir,
  recordStoreVersion,
  refreshKubeconfigs,
  serverAddresses,
  urlHost,
  writeKubeconfigs,
} from "@dray/cluster";
import { createLog } from "../../log/create.ts";
import { type TargetFlags, target } from "../../options/target.ts";
import {
  bindAddressOption,
  checkNeededApis,
  featuresOption,
  runtimeConfigOption,
  serverApis,
  storeOption,
  wholeNumber,
} from "../../options/values.ts";
import { endRequested } from "../../process/end-requested.ts";
import { keepHeapSmall } from "../../process/heap.ts";
import { remark, say } from "../../terminal/verbosity.ts";
import { shellWord } from "../../text/shell.ts";
import { frontProxy } from "./front-proxy.ts";
import { type UpstreamFlags, upstreamOptions } from "./options.ts";

export interface ApiServerOptions extends UpstreamFlags, TargetFlags {
  readonly port: string;
  readonly bindAddress: string;
  readonly kubeconfig?: string;
  readonly store?: string;
  readonly runtimeConfig?: string;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
}

export async function apiserver(options: ApiServerOptions): Promise<void> {
  const { createServer, firstServiceAddress } = await import("@dray/apiserver");
  const { name, layout } = target(options);
  const wanted = wholeNumber("--port", options.port, 0, 65535);
  const bindAddress = bindAddressOption(options.bindAddress);
  const storeAt = storeOption(options.store ?? `sqlite:${layout.database}`);
  const features = featuresOption(options);
  const { version: kubernetesVersion } = features;
  const runtimeConfig = runtimeConfigOption(options.runtimeConfig ?? "");
  checkNeededApis(runtimeConfig, serverApis, "the API server");
  const upstream = upstreamOptions(options);
  const log = createLog("apiserver");
  prepareDataDir(layout);
  // Not $KUBECONFIG: like kube-apiserver, writes only to files that a flag names.
  const kubeconfigs = kubeconfigFiles(options.kubeconfig, layout, {});
  await checkKubeconfigs(layout, name, kubeconfigs);
  const port = await choosePort(bindAddress, wanted);
  const addresses = serverAddresses({
    bind: bindAddress,
    advertise: upstream.advertiseAddress,
    ...(upstream.server.serviceRanges && { also: upstream.server.serviceRanges.map(firstServiceAddress) }),
  });
  const credentials = await ensureCredentials(layout, [], systemClock.now(), { addresses });
  const store = openStore(storeAt, systemClock);
  try {
    await checkStoreVersion(store, kubernetesVersion);
  } catch (error) {
    await store.close();
    throw error;
  }
  const loopbackPods = upstream.hasLoopbackPods ? await podsOfThisMachine() : undefined;
  const server = await createServer({
    store,
    kubernetesVersion,
    featureGates: parseFeatureGates(options.featureGates ?? ""),
    runtimeConfig,
    ...upstream.server,
    deviceUsage: await deviceUsage(features, randomUUID, upstream.server.enabledAdmissionPlugins),
    clock: systemClock,
    log,
    serving: {
      ...(upstream.serving ?? credentials.server),
      clientAuthority: [credentials.authority.certificate, upstream.clientAuthority].join("\n"),
    },
    serviceAccounts: { key: credentials.serviceAccountKey, ...upstream.serviceAccounts },
    ...frontProxy(upstream.frontProxy, credentials),
    kubelet: { ...credentials.kubeletClient, ...upstream.kubelet },
    ...(loopbackPods && { loopbackPods }),
    advertisedPort: port,
    advertisedAddress: addresses.advertised,
  });
  const olderVersion = await recordStoreVersion(store, kubernetesVersion);
  if (olderVersion !== undefined)
    remark(`the objects of Kubernetes ${olderVersion} are those of ${kubernetesVersion} from now on\n`);
  await server.listen({ host: bindAddress, port });
  const url = `https://${urlHost(addresses.local)}:${port}`;
  const certificate = [credentials.authority.certificate, upstream.serving?.certificate].join("\n");
  const authority = { ...credentials.authority, certificate };
  await writeKubeconfigs(layout, name, { ...credentials, authority }, url);
  const added = await addToKubeconfigs(layout, name, kubeconfigs);
  await refreshKubeconfigs(layout, name, (message) => remark(`note: ${message}\n`));
  say(`the API server is ready at ${url}\n  kubeconfig  ${shellWord(added?.file ?? layout.kubeconfig)}\n`);
  keepHeapSmall();
  await endRequested();
  await server.close();
  await store.close();
}
