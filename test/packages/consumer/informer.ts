/**
 * Follows the ResourceSlices of the cluster that $KUBECONFIG names; prints the devices of the first driver
 * that comes.
 */
import { ResourceSlice } from "@dray/api/resource/v1";
import { createClient, httpsTransport, type Informer, loadKubeconfig } from "@dray/client";

const { connection } = await loadKubeconfig();
const client = createClient({ transport: httpsTransport(connection), userAgent: "informer" });
const stop = new AbortController();
const slices: Informer<ResourceSlice> = client.informer(ResourceSlice, {
  indexes: { driver: (slice) => [slice.spec.driver] },
});
await slices.start(stop.signal);
await slices.until(() => slices.byIndex("driver", "lamp.example.com").length > 0);
const devices = slices.byIndex("driver", "lamp.example.com").flatMap(({ spec }) => spec.devices ?? []);
process.stdout.write(`${JSON.stringify(devices.map(({ name }) => name))}\n`);
stop.abort();
client.close();
