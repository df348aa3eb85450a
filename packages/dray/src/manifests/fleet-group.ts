/** The API group of Fleet documents (docs/fleet.md), which a cluster does not have. */
export const fleetGroup = "dray.dev";
