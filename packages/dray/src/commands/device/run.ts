import { existsSync } from "node:fs";
import { type Client, systemClock } from "@dray/client";
import { connect } from "../../connection/connect.ts";
import { noCluster, type TargetFlags, target } from "../../options/target.ts";
import { UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { tableFormat } from "../../terminal/print-text.ts";
import { say } from "../../terminal/verbosity.ts";
import { table } from "../../text/table.ts";
import { findDevice, type ListedDevice, listDevices, namesOf } from "./devices.ts";
import { setHealth } from "./health.ts";

export interface DeviceFlags extends TargetFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** Prints the devices of a cluster and their health. */
export async function deviceList(flags: DeviceFlags & { readonly output?: "json" | "yaml" }): Promise<void> {
  const devices = await withClient(flags, listDevices);
  if (flags.output !== undefined) return printData(devices, flags.output);
  if (devices.length === 0) return say("There are no devices: no driver publishes ResourceSlices.\n");
  const rows = devices.map(({ node, driver, pool, device, health, message, taints }) => [
    node ?? "-",
    driver,
    pool,
    device,
    health,
    taints.join(","),
    message ?? "",
  ]);
  process.stdout.write(
    table(
      [
        ...["NODE", { title: "DRIVER", wraps: true }, { title: "POOL", wraps: true }],
        ...["DEVICE", "HEALTH", { title: "TAINTS", wraps: true }, { title: "MESSAGE", wraps: true }],
      ],
      rows,
      tableFormat({}),
    ),
  );
}

export interface BreakFlags extends DeviceFlags {
  readonly message?: string;
  readonly effect?: string;
}

/** Breaks a simulated device: its slice gets a taint, and the kubelet reports it as unhealthy. */
export async function deviceBreak(name: string, flags: BreakFlags): Promise<void> {
  const { message, effect } = flags;
  if (message !== undefined && message.length > maxMessage)
    throw new UsageError(`--message: has ${message.length} characters, and may have ${maxMessage}`);
  await withClient(flags, async (client) => {
    const device = findDevice(await listDevices(client), name);
    await setHealth(client, device, {
      ...refOf(device),
      health: "Unhealthy",
      since: systemClock.now(),
      ...(message && { message }),
      ...(effect && { effect }),
    });
    say(`${namesOf(device)[0]} is broken\n`);
  });
}

/** Heals a device that a person or its fleet file has broken. */
export async function deviceHeal(name: string, flags: DeviceFlags): Promise<void> {
  await withClient(flags, async (client) => {
    const device = findDevice(await listDevices(client), name);
    await setHealth(client, device, { ...refOf(device), health: "Healthy", since: systemClock.now() });
    say(`${namesOf(device)[0]} is healthy\n`);
  });
}

/** Maximum length of a message that the kubelet keeps (KEP-4680), in characters. */
const maxMessage = 1024;

const refOf = ({ driver, pool, device }: ListedDevice) => ({ driver, pool, device });

/** Connects to the cluster of the kubeconfig flags, otherwise to the local one. */
async function withClient<T>(flags: DeviceFlags, work: (client: Client) => Promise<T>): Promise<T> {
  let file = flags.kubeconfig;
  if (file === undefined && flags.context === undefined) {
    const { layout } = target(flags);
    if (!existsSync(layout.kubeconfig)) throw noCluster(layout);
    file = layout.kubeconfig;
  }
  const { client } = await connect(
    {
      ...(file !== undefined && { kubeconfig: file }),
      ...(flags.context !== undefined && { context: flags.context }),
    },
    "dray-device",
  );
  try {
    return await work(client);
  } finally {
    client.close();
  }
}
