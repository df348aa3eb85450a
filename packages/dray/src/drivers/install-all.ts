import { StatusError } from "@dray/api";
import { DeviceClass } from "@dray/api/resource/v1";
import { contextName, type Layout, readConfig } from "@dray/cluster";
import { connect } from "../connection/connect.ts";
import { ociImagesDir } from "../options/runtime.ts";
import { withProgress } from "../terminal/progress.ts";
import type { ChosenDriver } from "./drivers.ts";

/** Installs drivers into a running cluster one after the other, as its administrator. */
export async function installDrivers(
  layout: Layout,
  clusterName: string,
  drivers: readonly ChosenDriver[],
): Promise<void> {
  if (drivers.length === 0) return;
  const { installDriver } = await import("./install.ts");
  const flags = { kubeconfig: layout.kubeconfig, context: contextName(clusterName) };
  const { client } = await connect(flags, "dray-up");
  const provideImages = async (names: readonly string[]): Promise<void> => {
    if (readConfig(layout)?.runtime !== "oci") return;
    const { provideOwnImages } = await import("../images/own-image.ts");
    await provideOwnImages(ociImagesDir(layout.ociDir), names);
  };
  try {
    for (const driver of drivers)
      await withProgress(`Installing the driver ${driver.name}`, ({ update }) =>
        installDriver(client, driver, update, provideImages),
      );
  } finally {
    client.close();
  }
}

/** Reports whether a running cluster has device classes: slices are missing until the drivers are back. */
export async function hasDeviceClasses(layout: Layout, clusterName: string): Promise<boolean> {
  const flags = { kubeconfig: layout.kubeconfig, context: contextName(clusterName) };
  const { client } = await connect(flags, "dray-up");
  try {
    return (await client.resource(DeviceClass).list({ limit: 1 })).items.length > 0;
  } catch (error) {
    // The cluster does not serve the kind.
    if (StatusError.is(error, "NotFound")) return false;
    throw error;
  } finally {
    client.close();
  }
}
