import type { DeviceClass } from "@dray/api/resource/v1";
import type { Inventory } from "../inventory/inventory.ts";
import { classShape } from "../inventory/shapes.ts";
import type { JudgedDevice } from "../inventory/units.ts";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { counted, names } from "../text/words.ts";
import {
  allocatedClasses,
  countsOf,
  deviceRow,
  type HeadroomData,
  headroomData,
  requestedClasses,
} from "../top/rows.ts";
import { type ChosenDevices, chosenBy } from "./chosen.ts";
import type { Explained, Fact } from "./data.ts";

type Report = Omit<Explained, "version" | "rights">;

/** Explains which devices a class selects, their claims, and how many more claims fit. */
export function explainClass(deviceClass: DeviceClass, inventory: Inventory): Report {
  const { name } = deviceClass.metadata;
  const { world } = inventory;
  const chosen = chosenBy(inventory, name);
  const isChosen = ({ id }: JudgedDevice): boolean => chosen.ids.has(id);
  const units = inventory.units.filter(({ devices }) => devices.some(isChosen));
  const headroom = headroomData(inventory.headroom(classShape(name)));
  const counts = countsOf(units);
  const state =
    chosen.ids.size === 0 ? "empty" : headroom === null || headroom.count > 0 ? "available" : "exhausted";
  return {
    kind: "DeviceClass",
    namespace: null,
    name,
    state,
    summary: summaryOf(name, state, chosen, headroom),
    waits: [],
    placement: null,
    claims: [],
    devices: units.flatMap(({ devices }) =>
      devices.filter(isChosen).map((device) => deviceRow(device, devices)),
    ),
    counts,
    headroom: { [name]: headroom },
    facts: [...factsOf(deviceClass, world), ...chosen.refusals],
  };
}

function summaryOf(
  name: string,
  state: string,
  { ids, seen }: ChosenDevices,
  more: HeadroomData | null,
): string {
  if (state === "empty")
    return `class ${name} chooses none of the ${counted(seen, "device")} that nodes can reach`;
  const count = more === null ? "any number" : `${more.isLowerBound ? "at least " : ""}${more.count}`;
  const left = more?.count === 0 ? "no more can be had" : `${count} more can be had at once`;
  return `class ${name} chooses ${counted(ids.size, "device")}: ${left}`;
}

function factsOf({ metadata, spec }: DeviceClass, world: World): Fact[] {
  const claims = world.all("ResourceClaim").map(({ object }) => object);
  const names_ = (list: readonly { readonly object: Parameters<typeof nameOf>[0] }[]): string =>
    names(list.map(({ object }) => nameOf(object))) || "none";
  const users = world
    .all("ResourceClaim")
    .filter(({ object }) =>
      requestedClasses(object.spec.devices?.requests ?? []).some(
        (each) => each.deviceClass === metadata.name,
      ),
    );
  const templates = world
    .all("ResourceClaimTemplate")
    .filter(({ object }) =>
      requestedClasses(object.spec.spec.devices?.requests ?? []).some(
        (each) => each.deviceClass === metadata.name,
      ),
    );
  const held = claims.flatMap(allocatedClasses).filter((each) => each === metadata.name).length;
  return [
    ...(spec.selectors ?? []).map(({ cel }) => ({ name: "selector", value: cel?.expression ?? "" })),
    ...(spec.extendedResourceName === undefined
      ? []
      : [{ name: "extended resource", value: spec.extendedResourceName }]),
    ...(spec.config ?? []).flatMap(({ opaque }) =>
      opaque === undefined ? [] : [{ name: "configuration for", value: opaque.driver }],
    ),
    { name: "devices held", value: String(held) },
    { name: "claims", value: names_(users) },
    { name: "templates", value: names_(templates) },
  ];
}
