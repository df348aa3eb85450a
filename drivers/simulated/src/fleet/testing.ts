/** Fleets as texts. */
import { type Fleet, type FleetDevice, readFleet } from "../index.ts";

export const header = "apiVersion: dray.dev/v1alpha1\nkind: Fleet\n";

export const read = (text: string): Fleet => readFleet([{ file: "fleet.yaml", text: header + text }]);

/** A fleet of the node `n1` with these devices of `gpu.example.com`, as flow YAML. */
export const withDevices = (devices: string, pool = ""): Fleet =>
  read(`nodes: [{name: n1, drivers: [{driver: gpu.example.com, pools: [{devices: ${devices}${pool}}]}]}]`);

export const devicesOf = (fleet: Fleet): readonly FleetDevice[] =>
  fleet.nodes[0]!.drivers[0]!.pools[0]!.devices;

export const names = (fleet: Fleet): string[] => devicesOf(fleet).map(({ device }) => device.name);
